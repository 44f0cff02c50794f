"""What may never happen, asserted where it would happen."""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tests.flow.script import runs_again

from podherd.machines.pod.instructions import KillContainer, Publish, Sync
from podherd.model.keys import SOURCE_API
from podherd.model.pod import ContainerKind, Pod
from podherd.model.status import TERMINAL

if TYPE_CHECKING:
    from tests.flow.runtime import Box, Proc
    from tests.flow.timeline import Life
    from tests.flow.world import World

CRASH_LOOP_MAX_S = 40.0
RESET_S = 590.0
CALLS_A_MINUTE = 40, 20
"""Calls that change something: of a pod, and of each of its containers."""
DOUBT_S = 120.0
UNSEEN_S = 15.0
"""A container this young may be unknown to its shard."""


class LawBrokenError(AssertionError):
    """A schedule has shown a fault."""


def law(holds: object, text: str) -> None:
    if not holds:
        raise LawBrokenError(text)


class Laws:
    """What was ordered and done so far. ended: uids whose end a living shard has heard of, and that shard's life."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._counts: dict[tuple[str, str], tuple[Life, int]] = {}
        self._deadlines: dict[str, float] = {}
        self._ordered: dict[str, float] = {}
        self._hooked: set[tuple[int, str]] = set()
        self._excused: set[str] = set()
        self._inits: dict[str, list[tuple[str, ContainerKind]]] = {}
        self._last: dict[tuple[str, str], Proc] = {}
        self._restarts: dict[tuple[str, str], tuple[Life, int]] = {}
        self._calls: dict[str, deque[float]] = {}
        self.ended: dict[str, Life] = {}
        self.phases: dict[str, str] = {}
        self._over: set[str] = set()
        self.tried: set[str] = set()

    # Shards.

    def life_ends(self, life: "Life") -> None:
        """A shard that begins anew knows nothing of graces and ends."""
        uids = [uid for uid, of in self.ended.items() if of is life]
        for uid in uids:
            del self.ended[uid]
        self._deadlines.clear()
        self._hooked.clear()
        self.phases.clear()
        self._over.clear()

    def clock_stepped(self) -> None:
        self._deadlines.clear()
        self._restarts.clear()

    def synced(self, sync: Sync) -> None:
        plan = sync.plan
        begins = plan.make_sandbox is not None or bool(plan.start)
        law(not (begins and sync.uid in self.ended), "a start is planned in a pod that is being terminated")
        law(not (begins and self.phases.get(sync.uid) in TERMINAL), "a start is planned in a pod that has ended")
        law(not (begins and sync.uid in self._over), "a start is planned in a pod that is over")
        status = sync.pod.body.get("status") or {} if sync.pod is not None and sync.pod.source == SOURCE_API else {}
        law(not (begins and status.get("phase") in TERMINAL), "a start is planned in a pod that the API knows as ended")
        law(not (begins and self._world.draining and self._world.drain_heard(sync.uid)), "a start while draining")

    def published(self, told: Publish) -> None:
        self.phases[told.uid] = told.status.get("phase", "")
        for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
            for status in told.status.get(kind) or ():
                self._counted(told, status["name"], status["restartCount"])

    def over(self, uid: str) -> None:
        """Told when nothing of it runs, and again to whoever wants it to end then."""
        law(not self._running(uid), "a pod is told to be over while it runs")
        self._over.add(uid)

    def stopped(self, uid: str) -> None:
        """Heard by the status actor: a terminal phase may be told."""
        law(not self._running(uid), "a pod is told to have stopped while it runs")

    def finished(self, uid: str) -> None:
        """Heard by the status actor: the API object may go."""
        law(not self._running(uid), "a pod is told to be finished while it runs")
        law(uid not in self._world.volumes, "a pod is told to be finished with its volumes")

    def released(self, uid: str) -> None:
        self.tried.add("release")
        law(not self._running(uid), "volumes are unmounted while the pod runs")

    def _counted(self, told: Publish, name: str, count: int) -> None:
        """A shard that begins anew may find the count in the logs alone, once it starts the container again."""
        life = self._world.shard_of(told.name).life
        of, before = self._counts.get((told.uid, name), (life, 0))
        law(count >= before or of is not life, f"the restart count of {name} of {told.name} went down to {count}")
        self._counts[told.uid, name] = life, count

    def forgotten(self, uid: str) -> None:
        law(not self._running(uid), "a pod is forgotten while it runs")
        self.ended.pop(uid, None)
        self.phases.pop(uid, None)
        self._over.discard(uid)
        self._counts = {key: count for key, count in self._counts.items() if key[0] != uid}

    def cleaned_up(self, uid: str) -> None:
        self.tried.add("clean up")
        law(not self._running(uid), "files are removed while the pod runs")
        self._last = {key: proc for key, proc in self._last.items() if key[0] != uid}

    def _running(self, uid: str) -> "list[Proc]":
        return [proc for proc in self._world.runtime.of(uid) if proc.state == "running"]

    # Starts.

    def making(self, sync: Sync) -> None:
        law(sync.uid not in self.ended, "something is made for a pod that is being terminated")

    def box_made(self, box: "Box", others: "Iterable[Box]") -> None:
        self.tried.add("box")
        self._inits[box.id] = inits_of(self._world.specs[box.uid])
        twins = [other for other in others if other.uid == box.uid and other.ready]
        law(not twins, "a second sandbox beside a ready one")

    def starting(self, proc: "Proc") -> None:
        world, box = self._world, proc.box
        for other in world.runtime.procs.values():
            if other.state == "running" and other.box.name == box.name:
                law(other.box.uid == box.uid, f"two live pods of one full name, {other.box.uid} and {box.uid}")
                law(other.name != proc.name, f"two running containers of one name: {other.id} and {proc.id}")
        pod = world.specs[box.uid]
        self.tried |= {"start"} | ({"order"} if pod.init_containers else set())
        before = self._last.get((box.uid, proc.name))
        law(before is None or before.attempt < proc.attempt, f"attempt {proc.attempt} of {proc.name} comes again")
        law(not self._is_done(before, proc, pod), f"{proc.name} runs again against its policy")
        self._in_order(proc, pod)
        self._not_too_soon(proc, pod)
        self._last[box.uid, proc.name] = proc

    def _is_done(self, before: "Proc | None", proc: "Proc", pod: Pod) -> bool:
        """Whether its last run ended for good, and its shard has had the time to see that."""
        life = self._world.shard_of(pod.name).life
        if before is None or not before.by_itself or proc.kind != ContainerKind.REGULAR or restarts_all(pod):
            return False
        known = self._restarts.get((proc.box.uid, proc.name), (None, 0))[0] is life and not self._world.is_rough
        body = next((each.body for each in pod.containers if each.name == proc.name), {})
        shown_s = min(self._world.timeline.now, before.lost_at) - before.ended_at
        return known and shown_s > 2 * UNSEEN_S and not runs_again(body, pod.restart_policy, before.exit_code)

    def _in_order(self, proc: "Proc", pod: Pod) -> None:
        box = proc.box
        if proc.kind == ContainerKind.EPHEMERAL or self._inits[box.id] != inits_of(pod):
            return  # an edit under the same uid: the pod is initialised as it once was
        for container in pod.init_containers:
            if container.name == proc.name:
                break
            sidecar = container.kind is ContainerKind.SIDECAR
            ready = box.began if sidecar else box.done
            law(container.name in ready, f"{proc.name} starts before {container.name}")
        if proc.kind == ContainerKind.INIT and not restarts_all(pod):
            law(box.began.isdisjoint(each.name for each in pod.containers), f"{proc.name} runs again beside apps")

    def _not_too_soon(self, proc: "Proc", pod: Pod) -> None:
        key = proc.box.uid, proc.name
        life = self._world.shard_of(pod.name).life
        before = self._last.get(key)
        last_life, tries = self._restarts.get(key, (life, 0))
        same = (
            before is not None
            and before.by_itself
            and before.id not in {*self._ordered, *self._excused}
            and before.box is proc.box
            and last_life is life
        )
        lost = before is not None and before.id not in self._world.runtime.procs
        if key not in self._restarts and before is not None and proc.attempt > before.attempt + 1:
            same = False  # an instance in between was made and never began, and the clock step forgave the end before
        if before is None or not same or lost or before.image != proc.image or restarts_all(pod):
            self._restarts[key] = life, 0
            return
        now = self._world.timeline.now
        if before.ended_at - before.since > RESET_S:
            tries = 0
        delay_s = min(10.0 * 2 ** (tries - 1), CRASH_LOOP_MAX_S) if tries else 0.0
        self.tried.add("restart")
        law(now - before.ended_at >= delay_s - 0.01, f"{proc.name} is restarted after {now - before.ended_at:.2f} s")
        self._restarts[key] = life, tries + 1

    def pulling(self, sync: Sync, image: str) -> None:
        self._world.counted(sync.uid)
        law(image, "an image without a name")

    def counted(self, uid: str) -> None:
        """One call that changes something."""
        now = self._world.timeline.now
        calls = self._calls.setdefault(uid, deque())
        calls.append(now)
        while calls[0] < now - 60:
            calls.popleft()
        pod, most = self._world.specs.get(uid), CALLS_A_MINUTE
        law(len(calls) <= most[0] + most[1] * (len(pod.every_container) if pod else 5), "a hot loop")

    # Stops.

    def excuse(self, proc: "Proc") -> None:
        """Its postStart hook failed."""
        self._excused.add(proc.id)

    def kills_ordered(self, sync: Sync) -> None:
        now = self._world.timeline.now
        for kill in sync.plan.kill:
            self._ordered[kill.id] = now + kill.grace_s
            if sync.uid not in self.ended:
                continue
            self.tried.add("grace")
            end = self._deadlines.setdefault(kill.id, now + kill.grace_s)
            law(now + kill.grace_s <= end + 2.1 or kill.grace_s <= 2, f"{kill.name} gets a second grace")
            self._deadlines[kill.id] = min(end, now + kill.grace_s)

    def stopping(self, sync: Sync, kill: KillContainer, timeout_s: float) -> None:
        proc = self._world.runtime.procs.get(kill.id)
        now = self._world.timeline.now
        law(timeout_s >= 2, "StopContainer gets less than 2 s")
        end = self._deadlines.get(kill.id, now + timeout_s)
        law(now + timeout_s <= end + 2.6 or timeout_s <= 2, f"{kill.name} outlives its grace")
        if proc is None or proc.state != "running":
            return
        self._is_its_turn(sync, kill, proc)
        law(self._may_stop(proc, sync), f"a healthy container is stopped: {proc.name} of {proc.box.name}")

    def _is_its_turn(self, sync: Sync, kill: KillContainer, proc: "Proc") -> None:
        now = self._world.timeline.now
        ids = {each.id for each in sync.plan.kill}
        pod = sync.pod
        if pod is None or proc.kind != ContainerKind.SIDECAR or self._ordered.get(kill.id, now) - now <= 2:
            return
        if self._inits[proc.box.id] != inits_of(pod):
            return
        self.tried.add("turn")
        order = [each.name for each in pod.init_containers]
        for other in self._running(sync.uid):
            later = other.kind == ContainerKind.SIDECAR and order.index(other.name) > order.index(proc.name)
            if other.id in ids and (later or other.kind == ContainerKind.REGULAR):
                law(False, f"sidecar {proc.name} is stopped before {other.name}")

    def _may_stop(self, proc: "Proc", sync: Sync) -> bool:
        """Whether there is any reason to stop this running container."""
        world, box = self._world, proc.box
        pod = world.specs.get(box.uid)
        if pod is None or proc.id in self._excused or world.draining or pod.active_deadline_s or restarts_all(pod):
            return True
        apps = [each for each in self._running(box.uid) if each.kind == ContainerKind.REGULAR]
        if proc.kind in (ContainerKind.INIT, ContainerKind.EPHEMERAL) or not apps:
            return True
        if not box.ready or sum(each.uid == box.uid and each.ready for each in world.runtime.boxes.values()) > 1:
            return True
        if box.uid not in world.api and all(each.uid != box.uid for each in world.truth().values()):
            return True
        image = next((each.image for each in pod.every_container if each.name == proc.name), "")
        if proc.image != image or world.doubts.get(box.name, -DOUBT_S) >= proc.since - DOUBT_S:
            return True
        return sync.uid != box.uid

    def stopped_by_box(self, proc: "Proc") -> None:
        young = self._world.timeline.now - proc.since < UNSEEN_S
        law(proc.state != "running" or young or proc.id in self._ordered, f"{proc.name} dies without its grace")

    def hook_begins(self, sync: Sync, kill: KillContainer) -> None:
        key = id(self._world.shard_of(sync.name).life), kill.id
        self.tried.add("hook")
        law(key not in self._hooked, f"the preStop hook of {kill.name} runs twice")
        self._hooked.add(key)

    def removed(self, proc: "Proc") -> None:
        law(proc.state != "running", f"{proc.name} is removed while it runs")

    def ended_proc(self, proc: "Proc") -> None:
        """A process is dead."""
        end = self._deadlines.pop(proc.id, None)
        late_s = 0.0 if end is None else self._world.timeline.now - end
        law(late_s <= 2.6 or self._world.is_rough, f"{proc.name} died {late_s:.1f} s after its grace")


def inits_of(pod: Pod) -> list[tuple[str, ContainerKind]]:
    """The init containers and sidecars, by name and kind."""
    return [(each.name, each.kind) for each in pod.init_containers]


def restarts_all(pod: Pod) -> bool:
    """Whether a rule of the pod may restart all of its containers."""
    rules = (rule for each in pod.containers for rule in each.body.get("restartPolicyRules") or ())
    return any(rule.get("action") == "RestartAllContainers" for rule in rules)
