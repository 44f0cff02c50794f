"""What may never happen to a pod of the pretend node, and how it is once everything has settled."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.machines.pod.shapes import (
    DEADLINE_S,
    GRACE_S,
    container_of,
    hook_of,
    restarts_all,
    runs_again,
    sidecars,
)

from podherd.machines.pod.instructions import Plan, Publish, StartContainer, Sync
from podherd.model.pod import Container, ContainerKind, Pod
from podherd.wire.observed import ContainerSeen, SandboxSeen


@dataclass
class Held:
    """What the runtime holds of one uid."""

    name: str
    sandboxes: list[SandboxSeen] = field(default_factory=list)
    containers: list[ContainerSeen] = field(default_factory=list)

    def running(self) -> list[ContainerSeen]:
        return [each for each in self.containers if each.state == "running"]


class Laws:
    """The part of the world that keeps facts and asserts; times are those of its clock.

    done: (uid, container, sandbox or "") whose run the shard has seen to be the last one. init_ok: (uid, sandbox,
    container) that have done their part. begun: (uid, sandbox) whose app was started. triggered: uids of which a
    container ended so that all restart. hooked: containers whose hook has run. grace_ends: when a container is dead.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.runtime: dict[str, Held] = {}
        self.draining = self.stopped = False
        self.wanted: dict[str, Pod] = {}
        self.specs: dict[str, Pod] = {}
        self.changed: set[str] = set()
        self.published: dict[str, Publish] = {}
        self.planned_at: dict[int, float] = {}
        self.done: dict[tuple[str, str, str], float] = {}
        self.init_ok: set[tuple[str, str, str]] = set()
        self.begun: set[tuple[str, str]] = set()
        self.triggered: set[str] = set()
        self.hooked: set[str] = set()
        self.grace_ends: dict[str, float] = {}
        self.logs: dict[tuple[str, str], int] = {}
        self.dirs: dict[str, str] = {}

    def check_kills(self, uid: str, plan: Plan, spec_known: bool) -> None:
        """Nobody gets more grace than is left, nor a hook twice; of a pod that stops, sidecars go last, in reverse."""
        spec = self.specs[uid]
        for kill in plan.kill:
            assert kill.grace_s <= GRACE_S, "more grace than the pod has"
            ends = self.grace_ends.setdefault(kill.id, self.now + kill.grace_s)
            assert not kill.grace_s or self.now + kill.grace_s <= ends + 0.05, "a second grace"
            assert kill.hook is None or kill.id not in self.hooked, "a hook that has run"
            assert kill.hook in (None, hook_of(container_of(spec, kill.name), "preStop")), "somebody else's hook"
        if plan.stop_sandboxes and plan.make_sandbox is None and spec_known:
            first = [kill.id for each in spec.containers for kill in plan.kill if kill.name == each.name]
            for sidecar in reversed(sidecars(spec)):
                mine = [kill for kill in plan.kill if kill.name == sidecar.name]
                assert all(set(kill.after) == set(first) for kill in mine), "a sidecar out of turn"
                first += [kill.id for kill in mine]

    def check_deadline(self, uid: str, plan: Plan) -> None:
        held = self.runtime.get(uid)
        limit_s = self.specs[uid].active_deadline_s
        if plan.start and limit_s is not None and held is not None and held.sandboxes:
            begun_at = min(each.created_at for each in held.sandboxes)
            assert self.now < begun_at + limit_s, "a start after the deadline"

    def check_removal(self, uid: str, held: Held, plan: Plan) -> None:
        """The newest of a regular container goes with the pod alone, or where a rule restarts all."""
        if plan.clean_up:
            self.dirs.pop(uid, None)
            self.logs = {key: attempt for key, attempt in self.logs.items() if key[0] != uid}
            return
        self.dirs[uid] = held.name
        regular = {each.name for each in self.specs[uid].containers}
        newest = {each.name: each.id for each in sorted(held.containers, key=lambda each: each.created_at)}
        if any(newest.get(name) in plan.remove_containers for name in regular):
            assert uid in self.triggered, "the last proof of a run is removed"
            assert not plan.start, "a start before all are gone"
            self.done = {key: at for key, at in self.done.items() if key[0] != uid}
            self.begun = {key for key in self.begun if key[0] != uid}
            self.init_ok = {key for key in self.init_ok if key[0] != uid}

    def check_start(self, sync: Sync, held: Held, sandbox_id: str, want: StartContainer) -> None:
        """Init containers come first and once in a sandbox, sidecars before those that follow them."""
        uid, spec = sync.uid, self.specs[sync.uid]
        of = container_of(spec, want.name)
        # A run whose end was seen while its successor was on the way is followed by that one.
        done_at = self.done.pop((uid, want.name, self.place(of, sandbox_id)), None)
        assert done_at is None or done_at >= self.planned_at[sync.plan_id], "run again against its policy"
        for other_uid, other in self.runtime.items():
            assert uid == other_uid or other.name != sync.name or not other.running(), "two live pods of one full name"
        if of.kind is ContainerKind.EPHEMERAL:
            target = next((each.id for each in held.running() if each.name == of.target), "")
            assert want.target_id or not of.target, "joins nobody"
            assert not target or want.target_id == target or uid in self.changed, "joins the wrong one"
            return
        initialised = (uid, sandbox_id) in self.begun
        if of.kind is ContainerKind.REGULAR:
            self.begun.add((uid, sandbox_id))
        assert of.kind is not ContainerKind.INIT or not initialised, "init runs again beside the app"
        if initialised:
            return
        before = spec.init_containers
        before = before if of.kind is ContainerKind.REGULAR else before[: before.index(of)]
        for each in before:
            assert (uid, sandbox_id, each.name) in self.init_ok, f"{want.name} before {each.name} has done its part"

    def note_done(self, uid: str, containers: Iterable[ContainerSeen]) -> None:
        """Runs that are not to be repeated, once the shard has seen them: a plain init's in its sandbox, others' ever.

        The end of a container that restarts all is not to be followed by its own start alone.
        """
        spec = self.specs[uid]
        newest = {each.name: each for each in sorted(containers, key=lambda each: each.attempt)}
        for each in newest.values():
            of = container_of(spec, each.name)
            if each.state != "exited":
                continue
            if not runs_again(spec, of, each.exit_code) or restarts_all(of, each.exit_code):
                self.done.setdefault((uid, each.name, self.place(of, each.sandbox_id)), self.now)

    @staticmethod
    def place(of: Container, sandbox_id: str) -> str:
        return sandbox_id if of.kind is ContainerKind.INIT else ""

    def note_end(self, held: Held, ended: ContainerSeen, code: int) -> None:
        uid = next(uid for uid, each in self.runtime.items() if each is held)
        of = container_of(self.specs[uid], ended.name)
        if of.kind is ContainerKind.INIT and code == 0:
            self.init_ok.add((uid, ended.sandbox_id, ended.name))
        if restarts_all(of, code):
            self.triggered.add(uid)

    def check_settled(self) -> None:
        """Every desired pod runs or is done by its policy; nothing else is left. After a drain nothing runs at all."""
        if self.draining:
            assert self.stopped, "the end of the drain was never told"
            assert not any(held.running() for held in self.runtime.values()), "something runs after the drain"
            return
        assert set(self.published) == set(self.wanted)
        assert set(self.runtime) <= set(self.wanted)
        assert set(self.dirs) <= set(self.wanted), "directories are left behind"
        for uid in self.wanted:
            self.check_pod(uid)

    def check_pod(self, uid: str) -> None:
        wanted, status = self.wanted[uid], self.published[uid].status
        running = {each.name for each in self.runtime[uid].running()} if uid in self.runtime else set()
        for each in (*status["containerStatuses"], *status.get("initContainerStatuses", ())):
            assert ("running" in each["state"]) == (each["name"] in running), "the status is not true"
        if status["phase"] in ("Failed", "Succeeded"):
            assert not running, "a pod that is over runs"
            assert status["phase"] == "Succeeded" or status.get("reason") or self.may_have_failed(uid, status)
            return
        assert wanted.active_deadline_s is None, f"active for more than {DEADLINE_S} s"
        if status["conditions"][0]["message" if "message" in status["conditions"][0] else "status"] != "True":
            # A pod that ran in part and lost its sandbox gets no second one (kubelet behaviour, section 3.1).
            assert status["conditions"][0]["message"] == "pod sandbox is not ready"
            assert wanted.restart_policy == "Never"
            return
        assert running, "nothing runs"
        assert {each.name for each in sidecars(wanted)} <= running, "a sidecar does not run"
        for each in status["containerStatuses"]:
            if "running" not in each["state"]:
                done = each["state"].get("terminated")
                assert done, f"neither running nor ended: {each}"
                code = done["exitCode"]
                assert not runs_again(wanted, container_of(wanted, each["name"]), code), f"not restarted: {each}"
        for each in status.get("ephemeralContainerStatuses", ()):
            of = container_of(wanted, each["name"])
            assert "waiting" not in each["state"] or (of.target and of.target not in running), f"never ran: {each}"

    def may_have_failed(self, uid: str, status: Any) -> bool:
        """Some container ended badly and policy lets none run again."""
        spec = self.wanted[uid]
        ends = [
            (container_of(spec, each["name"]), each["state"]["terminated"]["exitCode"])
            for each in (*status["containerStatuses"], *status.get("initContainerStatuses", ()))
            if "terminated" in each["state"]
        ]
        return any(code and not runs_again(spec, of, code) for of, code in ends)
