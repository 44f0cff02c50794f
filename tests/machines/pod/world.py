"""A tiny pretend node around one ShardMachine: sources, runtime, PLEG and shell, driven step by step.

Every lane is a queue that the schedule empties when it likes; plans are performed whole, in part, or not at all.
What may never happen is asserted where it would happen.
"""

from collections import deque
from collections.abc import Sequence

from tests.machines.pod.builders import POLICY, READY, T0
from tests.machines.pod.laws import Held
from tests.machines.pod.runtime import Runtime
from tests.machines.pod.shapes import (
    SHAPES,
    container_of,
    shaped,
)

from podherd.machines.pod.events import (
    Event,
    LeftBehind,
    Started,
    Synced,
    Unreadable,
    Wanted,
    Woke,
)
from podherd.machines.pod.instructions import (
    AllStopped,
    CancelSync,
    Fault,
    Forget,
    Instruction,
    LookAgain,
    Publish,
    Sync,
    WakeAt,
)
from podherd.machines.pod.machine import ShardMachine
from podherd.model.pod import ContainerKind, Pod
from podherd.wire.control import Drain
from podherd.wire.desired import Gone, Roster
from podherd.wire.node import RuntimeState
from podherd.wire.observed import Observed, ObservedRoster

NAMES = ("web", "job")
POLICIES = ("Always", "OnFailure", "Never")
LATE_S = 50.0


class World(Runtime):
    def __init__(self, shapes: Sequence[int] = range(len(SHAPES))) -> None:
        super().__init__()
        self.shapes = shapes
        self.now = T0
        self.shard = ShardMachine(POLICY)
        self.network = self.runtime_up = True
        self.unreadable: set[str] = set()
        self.last_uid: dict[str, str] = {}
        self.flights: dict[str, tuple[Sync, bool]] = {}
        self.wakes: dict[str, float] = {}
        self.source_lane: deque[Event] = deque()
        self.pleg_lane: deque[Observed | ObservedRoster] = deque()
        self.ending: set[str] = set()
        self.counts: dict[tuple[str, str], int] = {}
        self.forgotten: dict[str, float] = {}
        self.syncs = 0
        self.feed(READY)
        self.source_lane.append(Roster((), True))
        self.pleg_lane.append(ObservedRoster((), self.now))

    # The shell.

    def feed(self, event: Event) -> None:
        self.now += 0.01
        if isinstance(event, Gone):
            self.ending.add(event.uid)
        if isinstance(event, Roster) and event.complete:
            self.ending |= set(self.published) - set(event.uids)
        for instruction in self.shard.handle(self.now, event):
            self.perform(instruction)

    def perform(self, instruction: Instruction) -> None:
        match instruction:
            case Sync():
                self.take(instruction)
            case Fault(_, error):
                raise AssertionError("the machine threw") from error
            case AllStopped():
                assert self.draining and not self.stopped, "told to have stopped twice, or without an order"  # noqa: PT018
                assert not any(held.running() for held in self.runtime.values()), "drained while something runs"
                self.stopped = True
            case CancelSync(uid, plan_id):
                assert uid in self.flights, "a cancel of what does not run"
                sync, _ = self.flights[uid]
                assert sync.plan_id == plan_id
                self.flights[uid] = (sync, True)
            case Publish():
                self.publish(instruction)
            case Forget(uid):
                self.forget(uid)
            case WakeAt(uid, at):
                self.wakes[uid] = at
            case LookAgain(reinspect):
                self.changed.add(reinspect.uid)

    def take(self, sync: Sync) -> None:
        assert sync.uid not in self.flights, "two syncs of one pod in flight"
        plan = sync.plan
        assert not self.draining or (plan.make_sandbox is None and not plan.start), "a start while draining"
        assert plan.why, "a plan that nobody can explain"
        self.check_kills(sync.uid, plan, sync.pod is not None)
        self.check_deadline(sync.uid, plan)
        if sync.uid in self.ending:
            assert plan.make_sandbox is None, "a sandbox for a pod that is being terminated"
            assert not plan.start, "a start in a pod that is being terminated"
        self.flights[sync.uid] = (sync, False)
        self.planned_at[sync.plan_id] = self.now
        self.syncs += 1

    def publish(self, told: Publish) -> None:
        assert self.published.get(told.uid) != told, "the same status twice"
        self.published[told.uid] = told
        regular, init = told.status.get("containerStatuses", ()), told.status.get("initContainerStatuses", ())
        for status in (*init, *regular):
            key = (told.uid, status["name"])
            assert status["restartCount"] >= self.counts.get(key, 0), "a restart count went down"
            self.counts[key] = status["restartCount"]

    def forget(self, uid: str) -> None:
        held = self.runtime.get(uid)
        assert held is None or not held.running(), "forgotten while running"
        self.ending.discard(uid)
        self.published.pop(uid, None)
        self.wakes.pop(uid, None)
        self.counts = {key: value for key, value in self.counts.items() if key[0] != uid}
        self.done = {key: at for key, at in self.done.items() if key[0] != uid}
        self.forgotten[uid] = self.now

    def fire_wakes(self) -> None:
        for uid in [uid for uid, at in self.wakes.items() if at <= self.now]:
            del self.wakes[uid]
            self.feed(Woke(uid))

    def restart_shard(self, half_done: bool, overtaken: int) -> None:
        """A new machine that knows nothing; what the old one had in flight was done or was not."""
        for uid in list(self.flights):
            sync, _ = self.flights.pop(uid)
            if half_done:
                self.do(sync, 0)
        self.shard = ShardMachine(POLICY)
        self.wakes, self.published, self.counts, self.ending = {}, {}, {}, set()
        self.delivered, self.told = [], set()
        # What is proved by no container any more is not known to the new shard.
        held = {(uid, each.name) for uid, held in self.runtime.items() for each in held.containers}
        self.done = {key: at for key, at in self.done.items() if key[:2] in held}
        self.begun = {
            (uid, each.sandbox_id)
            for uid, held_ in self.runtime.items()
            for each in held_.containers
            if container_of(self.specs[uid], each.name).kind is ContainerKind.REGULAR
        }
        self.hooked, self.grace_ends = set(), {}
        self.source_lane = deque(
            self.no_body(each) if each.uid in self.unreadable else Wanted(each, "again")
            for each in self.wanted.values()
        )
        self.source_lane.append(Roster(tuple(self.wanted), True))
        self.source_lane.extend(LeftBehind(uid, "default", name) for uid, name in self.dirs.items())
        self.restart_pleg(overtaken)
        if self.draining:
            self.stopped = False
            self.feed(Drain())
        self.feed(RuntimeState(self.runtime_up, self.network, "down", ""))

    # Sources.

    def want(self, name: str, number: int) -> None:
        """A new pod, or an edit: a new uid under the same name, its news in either order."""
        made = next(self.ids)
        uid = f"{name}-{made}"
        self.specs[uid] = shaped(self.shapes[(made + number) % len(self.shapes)], uid, name, POLICIES[number % 3])
        news: list[Event] = [Wanted(self.specs[uid], "edit")]
        old = self.last_uid.get(name)
        if old in self.wanted:
            gone = Gone(old, "default", name, "edit")
            del self.wanted[old]
            news = [gone, *news] if number % 2 else [*news, gone]
        self.wanted[uid] = self.specs[uid]
        self.last_uid[name] = uid
        self.source_lane.extend(news)

    def drop(self, name: str) -> None:
        uid = self.last_uid.get(name)
        if uid in self.wanted:
            del self.wanted[uid]
            self.source_lane.append(Gone(uid, "default", name, "deleted"))

    def restore(self, name: str) -> None:
        """The same uid once more."""
        uid = self.last_uid.get(name)
        if uid is not None and uid not in self.wanted:
            self.wanted[uid] = self.specs[uid]
            self.source_lane.append(Wanted(self.specs[uid], "restored"))

    def garble(self, name: str) -> None:
        """The body of a wanted pod cannot be read any more."""
        uid = self.last_uid.get(name)
        if uid in self.wanted:
            self.unreadable.add(uid)
            self.source_lane.append(self.no_body(self.wanted[uid]))

    @staticmethod
    def no_body(of: Pod) -> Unreadable:
        return Unreadable(of.uid, "default", of.name, "torn")

    def drain(self) -> None:
        self.draining = True
        self.feed(Drain())

    # PLEG.

    def look(self, uid: str) -> Observed:
        held = self.runtime.get(uid) or Held("")
        boxes = sorted(held.sandboxes, key=lambda each: each.attempt, reverse=True)
        seen = sorted(held.containers, key=lambda each: each.created_at, reverse=True)
        self.now += 0.01
        name = held.name or next((each.name for each in self.wanted.values() if each.uid == uid), uid.partition("-")[0])
        return Observed(uid, "default", name, self.now, tuple(boxes), tuple(seen))

    def relist(self) -> None:
        changed, self.changed = self.changed, set()
        self.pleg_lane.extend(self.look(uid) for uid in sorted(changed))

    def restart_pleg(self, overtaken: int = 0) -> None:
        self.pleg_lane = deque(self.look(uid) for uid in sorted(self.runtime))
        self.changed = set()
        # A newer view of a pod takes the place of one that still waits, and so may come after the roster.
        late = [self.pleg_lane.pop() for _ in range(min(overtaken, len(self.pleg_lane)))]
        self.pleg_lane.append(ObservedRoster(tuple(sorted(self.runtime)), self.now))
        self.pleg_lane.extend(late)

    def deliver_seen(self) -> None:
        if self.pleg_lane:
            seen = self.pleg_lane.popleft()
            if isinstance(seen, Observed):
                self.delivered.append(seen)
                if seen.at > self.forgotten.get(seen.uid, 0.0):
                    self.note_done(seen.uid, seen.containers)
            self.feed(seen)

    def deliver_overtaken(self) -> None:
        """A view that comes after the roster comes soon after it."""
        if not any(isinstance(each, ObservedRoster) for each in self.pleg_lane):
            while self.pleg_lane:
                self.deliver_seen()

    def deliver_old(self, number: int) -> None:
        recent = [each for each in self.delivered if self.now - each.at < LATE_S]
        if recent:
            self.feed(recent[-1 - number % len(recent)])

    def finish(self, number: int) -> None:
        """One sync comes to its end, well or badly by `number`."""
        uids = sorted(self.flights)
        if not uids:
            return
        sync, cancelled = self.flights.pop(uids[number % len(uids)])
        results, did = self.do(sync, number // 2 if not cancelled else 6)
        self.told |= {each.id for each in results if isinstance(each, Started)}
        self.feed(Synced(sync.uid, sync.plan_id, self.now, tuple(results), did, cancelled))

    def round(self) -> None:
        """Everybody hears all that is new; one sync is done well."""
        self.relist()
        while self.source_lane:
            self.feed(self.source_lane.popleft())
        while self.pleg_lane:
            self.deliver_seen()
        if self.flights:
            self.finish(0)

    # The end of every schedule.

    def settle(self) -> None:
        """Everything works from now on: deliver, finish and wake until nothing more happens."""
        self.image_broken, self.network, self.runtime_up = False, True, True
        self.source_lane.extend(Wanted(self.wanted[uid], "mended") for uid in self.unreadable & self.wanted.keys())
        self.feed(READY)
        quiet_after = self.now + 1500
        while self.now < quiet_after:
            self.end_inits()
            while self.source_lane or self.pleg_lane or self.flights or self.changed:
                self.round()
                self.end_inits()
            self.now = max(self.now + 0.01, min(self.wakes.values(), default=quiet_after))
            self.fire_wakes()
