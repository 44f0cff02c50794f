"""A tiny pretend node around one ShardMachine: sources, runtime, PLEG and shell, driven step by step.

Every lane is a queue that the schedule empties when it likes; plans are performed whole, in part, or not at all.
What may never happen is asserted where it would happen.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count

from tests.machines.pod.builders import POLICY, READY, T0, container, pod, sandbox

from podherd.machines.pod.events import (
    Event,
    SandboxFailed,
    Started,
    StartFailed,
    StepFailed,
    StepResult,
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
    StartContainer,
    Sync,
    WakeAt,
)
from podherd.machines.pod.machine import ShardMachine
from podherd.model.pod import Pod
from podherd.wire.control import Drain
from podherd.wire.desired import Gone, Roster
from podherd.wire.node import RuntimeState
from podherd.wire.observed import ContainerSeen, Observed, ObservedRoster, SandboxSeen

NAMES = ("web", "job")
POLICIES = ("Always", "OnFailure", "Never")
LATE_S = 50.0


@dataclass
class Held:
    """What the runtime holds of one uid."""

    name: str
    sandboxes: list[SandboxSeen] = field(default_factory=list)
    containers: list[ContainerSeen] = field(default_factory=list)

    def running(self) -> list[ContainerSeen]:
        return [each for each in self.containers if each.state == "running"]


class World:
    def __init__(self) -> None:
        self.now = T0
        self.shard = ShardMachine(POLICY)
        self.runtime: dict[str, Held] = {}
        self.network = self.runtime_up = True
        self.image_broken = False
        self.draining = self.stopped = False
        self.unreadable: set[str] = set()
        self.wanted: dict[str, Pod] = {}
        self.specs: dict[str, Pod] = {}
        self.last_uid: dict[str, str] = {}
        self.flights: dict[str, tuple[Sync, bool]] = {}
        self.wakes: dict[str, float] = {}
        self.source_lane: deque[Event] = deque()
        self.pleg_lane: deque[Observed | ObservedRoster] = deque()
        self.delivered: list[Observed] = []
        self.changed: set[str] = set()
        self.ending: set[str] = set()
        self.published: dict[str, Publish] = {}
        self.counts: dict[tuple[str, str], int] = {}
        self.told: set[str] = set()
        self.done: dict[tuple[str, str], float] = {}
        self.planned_at: dict[int, float] = {}
        self.ids = count()
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
        if sync.uid in self.ending:
            assert plan.make_sandbox is None, "a sandbox for a pod that is being terminated"
            assert not plan.start, "a start in a pod that is being terminated"
        self.flights[sync.uid] = (sync, False)
        self.planned_at[sync.plan_id] = self.now
        self.syncs += 1

    def publish(self, told: Publish) -> None:
        assert self.published.get(told.uid) != told, "the same status twice"
        self.published[told.uid] = told
        for status in told.status.get("containerStatuses", ()):
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
        held = {(uid, each.name) for uid, held in self.runtime.items() for each in held.containers}
        self.done = {key: at for key, at in self.done.items() if key in held}
        self.source_lane = deque(
            self.no_body(each) if each.uid in self.unreadable else Wanted(each, "again")
            for each in self.wanted.values()
        )
        self.source_lane.append(Roster(tuple(self.wanted), True))
        self.restart_pleg(overtaken)
        if self.draining:
            self.stopped = False
            self.feed(Drain())
        self.feed(RuntimeState(self.runtime_up, self.network, "down", ""))

    # Sources.

    def want(self, name: str, number: int) -> None:
        """A new pod, or an edit: a new uid under the same name, its news in either order."""
        uid = f"{name}-{next(self.ids)}"
        names = ("main",) if number % 2 else ("main", "side")
        self.specs[uid] = pod(uid, name, names, restart=POLICIES[number % 3], grace_s=5)
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

    # Runtime.

    def happen(self, number: int, change: Callable[[Held], None]) -> None:
        """Something befalls one of the pods that the runtime holds."""
        uids = sorted(self.runtime)
        if uids:
            uid = uids[number % len(uids)]
            change(self.runtime[uid])
            self.drop_empty(uid)
            self.changed.add(uid)

    def note_done(self, uid: str, containers: Iterable[ContainerSeen]) -> None:
        """Runs that the pod's policy does not repeat, once the shard has seen them."""
        policy = self.specs[uid].restart_policy
        for each in containers:
            ended_well = each.state == "exited" and each.exit_code == 0
            if policy == "Never" or (policy == "OnFailure" and ended_well):
                self.done.setdefault((uid, each.name), self.now)

    def exit(self, held: Held, code: int) -> None:
        if held.running():
            self.end(held, held.running()[0].id, code)

    def end(self, held: Held, container_id: str, code: int) -> None:
        held.containers = [
            replace(each, state="exited", exit_code=code, finished_at=self.now, reason="Error")
            if each.id == container_id and each.state == "running"
            else each
            for each in held.containers
        ]

    def kill_sandbox(self, held: Held, sandbox_id: str) -> None:
        held.sandboxes = [replace(each, ready=False) if each.id == sandbox_id else each for each in held.sandboxes]
        for each in held.running():
            if each.sandbox_id == sandbox_id:
                self.end(held, each.id, 137)

    def stop_pause(self, held: Held) -> None:
        """The newest sandbox is no longer ready, but its containers go on."""
        if held.sandboxes:
            held.sandboxes[-1] = replace(held.sandboxes[-1], ready=False)

    def lose(self, held: Held) -> None:
        """A dead container is removed behind our back; not before this shard saw how it ended."""
        seen = {(each.id, each.state) for view in self.delivered for each in view.containers}
        dead = [each for each in held.containers if each.state == "exited" and (each.id, "exited") in seen]
        if dead:
            held.containers.remove(dead[0])

    def vanish(self, held: Held) -> None:
        """A running container that this shard knows of is killed and removed behind our back."""
        known = self.told | {each.id for view in self.delivered for each in view.containers}
        if held.running() and held.running()[-1].id in known:
            held.containers.remove(held.running()[-1])

    def drop_empty(self, uid: str) -> None:
        if uid in self.runtime and not self.runtime[uid].sandboxes and not self.runtime[uid].containers:
            del self.runtime[uid]

    # Steps.

    def finish(self, number: int) -> None:
        """One sync comes to its end, well or badly by `number`."""
        uids = sorted(self.flights)
        if not uids:
            return
        sync, cancelled = self.flights.pop(uids[number % len(uids)])
        results, did = self.do(sync, number // 2 if not cancelled else 6)
        self.told |= {each.id for each in results if isinstance(each, Started)}
        self.feed(Synced(sync.uid, sync.plan_id, self.now, tuple(results), did, cancelled))

    def do(self, sync: Sync, fault: int) -> tuple[list[StepResult], bool]:
        """Perform the plan. fault: 4 no sandbox, 5 no container, 6 cancelled after the kills, 7 nothing stops."""
        plan, results = sync.plan, list[StepResult]()
        if plan == replace(plan, clean_up=False, kill=(), stop_sandboxes=(), remove_containers=()) and fault == 6:
            return results, False
        held = self.runtime.setdefault(sync.uid, Held(sync.name))
        self.changed.add(sync.uid)
        self.now += 0.01
        try:
            if fault == 7 and (plan.kill or plan.stop_sandboxes or plan.clean_up):
                return [StepFailed("kill", "busy")], True
            for kill in plan.kill:
                self.end(held, kill.id, 143)
            if fault == 6 and plan.kill:
                return results, True
            for sandbox_id in plan.stop_sandboxes:
                self.kill_sandbox(held, sandbox_id)
            held.containers = [each for each in held.containers if each.id not in plan.remove_containers]
            held.sandboxes = [each for each in held.sandboxes if each.id not in plan.remove_sandboxes]
            return self.make_and_start(sync, held, fault)
        finally:
            self.drop_empty(sync.uid)

    def make_and_start(self, sync: Sync, held: Held, fault: int) -> tuple[list[StepResult], bool]:
        plan, sandbox_id = sync.plan, sync.plan.sandbox_id
        if plan.make_sandbox is not None:
            if fault == 4:
                return [SandboxFailed("no")], True
            if plan.make_sandbox in {each.attempt for each in held.sandboxes}:
                return [SandboxFailed("name is reserved")], True
            assert not any(each.ready for each in held.sandboxes), "a second sandbox beside a ready one"
            sandbox_id = f"s{next(self.ids)}"
            held.sandboxes.append(sandbox(sandbox_id, plan.make_sandbox, created_at=self.now))
        results = [self.start(sync, held, sandbox_id, each, fault) for each in plan.start]
        tried = any(not isinstance(each, StartFailed) or each.reason != "ImagePullBackOff" for each in results)
        return list(results), tried or not plan.start or plan.make_sandbox is not None

    def start(self, sync: Sync, held: Held, sandbox_id: str, want: StartContainer, fault: int) -> StepResult:
        if self.image_broken:
            reason = "ErrImagePull" if want.pull_allowed else "ImagePullBackOff"
            return StartFailed(want.name, reason, "no such image", image_pull=want.pull_allowed)
        home = next((each for each in held.sandboxes if each.id == sandbox_id and each.ready), None)
        taken = (want.name, want.attempt) in {(each.name, each.attempt) for each in held.containers}
        if fault == 5 or home is None or taken:
            return StartFailed(want.name, "CreateContainerError", "no")
        assert want.name not in {each.name for each in held.running()}, "two running containers of one name"
        done_at = self.done.get((sync.uid, want.name))
        assert done_at is None or done_at >= self.planned_at[sync.plan_id], "run again against its policy"
        for uid, other in self.runtime.items():
            assert uid == sync.uid or other.name != sync.name or not other.running(), "two live pods of one full name"
        made = container(
            f"c{next(self.ids)}", want.name, attempt=want.attempt, created_at=self.now, sandbox_id=sandbox_id
        )
        held.containers.append(made)
        return Started(want.name, made.id, want.attempt)

    # The end of every schedule.

    def settle(self) -> None:
        """Everything works from now on: deliver, finish and wake until nothing more happens."""
        self.image_broken, self.network, self.runtime_up = False, True, True
        self.source_lane.extend(Wanted(self.wanted[uid], "mended") for uid in self.unreadable & self.wanted.keys())
        self.feed(READY)
        quiet_after = self.now + 1500
        while self.now < quiet_after:
            while self.source_lane or self.pleg_lane or self.flights or self.changed:
                self.relist()
                while self.source_lane:
                    self.feed(self.source_lane.popleft())
                while self.pleg_lane:
                    self.deliver_seen()
                if self.flights:
                    self.finish(0)
            self.now = max(self.now + 0.01, min(self.wakes.values(), default=quiet_after))
            self.fire_wakes()

    def check_settled(self) -> None:
        """Every desired pod runs or is done by its policy; nothing else is left. After a drain nothing runs at all."""
        if self.draining:
            assert self.stopped, "the end of the drain was never told"
            assert not any(held.running() for held in self.runtime.values()), "something runs after the drain"
            return
        assert set(self.published) == set(self.wanted)
        assert set(self.runtime) <= set(self.wanted)
        for uid, wanted in self.wanted.items():
            status = self.published[uid].status
            running = {each.name for each in self.runtime[uid].running()} if uid in self.runtime else set()
            for each in status["containerStatuses"]:
                assert ("running" in each["state"]) == (each["name"] in running), "the status is not true"
                if "waiting" in each["state"] and wanted.restart_policy == "Never":
                    # A pod that ran in part and lost its sandbox gets no second one (kubelet behaviour, section 3.1).
                    assert status["conditions"][0]["message"] == "pod sandbox is not ready"
                elif "running" not in each["state"]:
                    done = each["state"].get("terminated")
                    assert done, f"neither running nor ended: {each}"
                    assert wanted.restart_policy == "Never" or (
                        wanted.restart_policy == "OnFailure" and done["exitCode"] == 0
                    ), f"not restarted: {each}"
