"""What the machine knows of one pod: wish, runtime as last seen, running plan, back-offs, what was published."""

from dataclasses import dataclass, field, replace
from typing import Any

from podherd.machines.backoff import BackOff
from podherd.machines.kept_ips import with_kept_ips
from podherd.machines.pod.events import Started
from podherd.machines.pod.instructions import Plan, Publish
from podherd.machines.pod.told_spec import ToldSpec
from podherd.machines.times import NEVER_AT
from podherd.model import keys
from podherd.model.pod import Container, Pod
from podherd.model.qos import qos_class
from podherd.model.status import LOST_MESSAGE, STATUS_UNKNOWN, STATUS_UNKNOWN_EXIT
from podherd.wire.evict import Evict
from podherd.wire.observed import ContainerSeen, Observed, SandboxSeen

CREATED = "created"
RUNNING = "running"
EXITED = "exited"
UNKNOWN = "unknown"
LIVE = frozenset({RUNNING, UNKNOWN})
"""States in which a process of the container may exist."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a container waits (reason and message of its status), and when it may be tried again."""

    reason: str
    message: str
    retry_at: float

    def at(self, retry_at: float) -> "Failure":
        """The same, to be tried again then."""
        return replace(self, retry_at=retry_at)


@dataclass(frozen=True, slots=True)
class PullTrouble:
    """An image's back-off and the error of its last pull."""

    back_off: BackOff
    error: str


@dataclass(slots=True)
class Running:
    """The sync in flight. crashes: the back-offs that count once their container's start was tried.

    news: an object that the pod refers to has changed meanwhile. node_news: drivers or attached
    volumes have. pod: the spec that it is done by.
    """

    plan_id: int
    plan: Plan
    crashes: dict[str, BackOff] = field(default_factory=dict)
    cancelled: bool = False
    news: bool = False
    node_news: bool = False
    pod: Pod | None = None


@dataclass(slots=True)
class Ending:
    """The pod is being terminated, which nothing takes back. until: the end of its grace, once a kill was ordered.

    deleted: its source deletes it or lets go of it; False for as long as only the node wants it to end.
    """

    cause: str
    grace_s: int
    until: float | None = None
    deleted: bool = True


@dataclass(slots=True, eq=False)
class Record:
    """One pod uid. Times are epoch seconds of the shell's clock; None or NEVER_AT: not yet.

    known_at: the time of which `sandboxes` and `containers` are true; None while unknown. deed_at: the end of the
    last sync that did something: nothing is planned from an older view (kubelet behaviour, section 2.3).
    newest: per container name the newest instance, remembered when the runtime has lost it. previous: the one before.
    attempts: highest attempt per name. started: what the last sync says it started and no view has shown yet.
    hold_until, sandbox_retry_at: pauses after failures. last_plan: the last plan that was done without a failure.
    synced_at: when the last sync was answered. again: the pod was wanted anew while ending.
    cleaned_at: when its last deed was done.
    left_behind: directories of it were found at the shard's start. kill_until: per container id the end of the grace of
    the first order to stop it. hooked: ids of containers whose preStop hook is not to run again.
    restarting_all: every init and regular container is to be removed before any starts (KEP-5532). restarted: per name
    the last instance that went so; it holds nothing back, and is the status' last state until there is a newer end.
    reason, message: why the pod failed as a whole (`DeadlineExceeded`); they stand beside the phase in its status.
    refusal: reason and message of the node's admission, "" for none. refused: because it may not run on this node.
    order: the eviction that ends it. resize: reason and message of a resize that is not granted yet, "" for none.
    unlike: by container which of its resources are not as its spec grants them. resized: per id the resources that an
    instance was changed to. given: per id those that it has by what we did and by what the API server was told.
    resize_error: why the last change failed. resize_retry_at: when the next may be tried.
    made: directories, volumes or a cgroup of it may stand here. released: the last two do not. over_told: see `Over`.
    broken_off: back-offs of restarts that a cancelled sync tried, and of which it is not known how far they came.
    hold_step: the step whose failure set `hold_until`. refresh_at: when its volumes' files are to be written anew.
    told_counts: per container the highest restart count that was told. told_spec: what the status takes from the spec.
    """

    uid: str
    namespace: str
    name: str
    first_seen: float
    known_at: float | None
    pod: Pod | None = None
    cause: str = ""
    problem: str = ""
    by_name: tuple[Container, ...] = ()
    qos: str = ""
    sandboxes: tuple[SandboxSeen, ...] = ()
    containers: tuple[ContainerSeen, ...] = ()
    newest: dict[str, ContainerSeen] = field(default_factory=dict)
    previous: dict[str, ContainerSeen] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    started: dict[str, Started] = field(default_factory=dict)
    stale: str = ""
    running: Running | None = None
    cancel: bool = False
    last_plan: Plan | None = None
    deed_at: float = NEVER_AT
    synced_at: float = NEVER_AT
    looked_at: float | None = None
    ending: Ending | None = None
    again: tuple[Pod, str] | None = None
    cleaned_at: float | None = None
    left_behind: bool = False
    kill_until: dict[str, float] = field(default_factory=dict)
    hooked: set[str] = field(default_factory=set)
    restarting_all: bool = False
    restarted: dict[str, ContainerSeen] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    crashes: dict[str, BackOff] = field(default_factory=dict)
    pulls: dict[str, PullTrouble] = field(default_factory=dict)
    hold_until: float = NEVER_AT
    sandbox_retry_at: float = NEVER_AT
    network_told: bool = False
    phase: str = ""
    reason: str = ""
    message: str = ""
    refused: bool = False
    refusal: tuple[str, str] = ("", "")
    order: Evict | None = None
    resize: tuple[str, str] = ("", "")
    unlike: dict[str, tuple[str, ...]] = field(default_factory=dict)
    resized: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    resize_error: str = ""
    resize_retry_at: float = NEVER_AT
    made: bool = False
    released: bool = False
    over_told: bool = False
    broken_off: dict[str, BackOff] = field(default_factory=dict)
    hold_step: str = ""
    refresh_at: float | None = None
    conditions: dict[str, dict[str, Any]] = field(default_factory=dict)
    told_counts: dict[str, int] = field(default_factory=dict)
    told_spec: ToldSpec | None = None
    published: Publish | None = None
    resync_at: float = NEVER_AT
    wake_at: float | None = None
    was_live: bool = False

    @property
    def fresh(self) -> bool:
        """Whether the view is newer than the last deed."""
        return self.known_at is not None and self.known_at > self.deed_at

    @property
    def live(self) -> bool:
        """Whether something of the pod runs, or may run for all that is known."""
        if self.running is not None:
            return not self.running.plan.only_clears
        if not self.fresh:
            return True
        return any(s.ready for s in self.sandboxes) or any(c.state in LIVE for c in self.containers)

    @property
    def found_alone(self) -> bool:
        """Whether its directories are all that is known of it."""
        return self.left_behind and self.pod is None and self.known_at is None

    @property
    def static(self) -> bool:
        """Whether a file or URL made this pod, by its spec or else by what its sandbox carries."""
        source = self.pod.source if self.pod is not None else self.sandboxes[0].source if self.sandboxes else ""
        return source in (keys.SOURCE_FILE, keys.SOURCE_HTTP)

    def want(self, pod: Pod, cause: str) -> None:
        """Take a new or changed spec; a change that matters ends the pauses of the old one and its running sync."""
        changed = self.pod is None or self.pod.body["spec"] != pod.body["spec"]
        if changed and self.crashes and self.pod is not None:
            self._forgive_changed(self.pod, pod)
        self.pod, self.cause, self.problem = pod, cause, ""
        if not changed:
            return
        self.by_name = tuple(sorted(pod.containers, key=lambda container: container.name))
        self.qos = qos_class(pod.body)
        self.failures.clear()
        self.hold_until = self.sandbox_retry_at = NEVER_AT
        if self.running is not None and self.ending is None and not self.running.plan.only_clears:
            self.cancel = True

    def _forgive_changed(self, old: Pod, new: Pod) -> None:
        """A back-off belongs to an image and its resources (kubelet behaviour, section 3.5)."""
        kept = {(each.name, each.image, str(each.body.get("resources"))) for each in old.every_container}
        for each in new.every_container:
            if (each.name, each.image, str(each.body.get("resources"))) not in kept:
                self.crashes.pop(each.name, None)

    def end_pauses(self, now: float) -> bool:
        """Let what failed be tried again now; whether anything waited."""
        paused = [name for name, failure in self.failures.items() if failure.retry_at > now]
        if not paused and max(self.hold_until, self.sandbox_retry_at) <= now:
            return False
        for name in paused:
            self.failures[name] = self.failures[name].at(now)
        self.hold_until = self.sandbox_retry_at = NEVER_AT
        return True

    def end(self, cause: str, grace_s: int, *, deleted: bool = True) -> None:
        """Begin to terminate; a second call can only shorten the grace (kubelet behaviour, section 2.3)."""
        if self.ending is None:
            self.ending = Ending(cause, grace_s, deleted=deleted)
        elif deleted and not self.ending.deleted:
            self.ending.cause, self.ending.deleted = cause, True
            self.end(cause, grace_s)
            return
        elif grace_s < self.ending.grace_s:
            self.ending.grace_s = grace_s
        else:
            return
        self.hold_until = NEVER_AT
        self.last_plan = None
        self.cancel = self.running is not None and not self.running.plan.only_clears

    def see(self, seen: Observed) -> bool:
        """Take what the runtime holds; False for an observation that is older than the one already known."""
        if self.known_at is not None and seen.at < self.known_at:
            return False
        self.stale = seen.stale
        if seen.stale:
            return True
        self.known_at = seen.at
        self.sandboxes, self.containers = with_kept_ips(seen.sandboxes, self.sandboxes), seen.containers
        self.made = self.made or bool(seen.sandboxes or seen.containers)
        for sandbox in seen.sandboxes:
            self.first_seen = min(self.first_seen, sandbox.created_at)
        self.sort_instances()
        if self.broken_off:
            self._count_broken_off()
        if self.kill_until or self.hooked:
            self._forget_kills()
        return True

    def _count_broken_off(self) -> None:
        """A restart that was broken off counts if its container began all the same."""
        if not self.fresh:
            return
        for name, crash in self.broken_off.items():
            seen = self.newest.get(name)
            if seen is not None and seen.started_at >= crash.raised_at:
                self.crashes[name] = crash
        self.broken_off = {}

    def _forget_kills(self) -> None:
        live = {seen.id for seen in self.containers if seen.state in LIVE}
        self.kill_until = {each: until for each, until in self.kill_until.items() if each in live}
        self.hooked &= live

    def restart_all(self) -> None:
        """Begin to remove every init and regular container, so that the pod begins anew in its sandbox."""
        self.restarting_all = True
        self.failures.clear()
        self._drop_restarted()

    def _drop_restarted(self) -> None:
        """What the runtime holds no more has gone as it should; once that is all, the pod begins anew."""
        pod = self.pod
        names = {each.name for each in (*pod.init_containers, *pod.containers)} if pod is not None else set()
        held = {seen.name for seen in self.containers}
        for name in names - held:
            if (last := self.newest.pop(name, None)) is not None:
                self.restarted[name] = _lost(last, self.known_at or 0.0)
        self.restarting_all = not names.isdisjoint(held)

    def doubt(self, now: float) -> None:
        """Something may have changed: what is known counts again once a view is newer than this moment."""
        self.looked_at = None
        if self.known_at is not None:
            self.deed_at = now

    def set_clock_back(self, now: float) -> None:
        """Take any next view as newer: else views would count as late for as long as the clock was set back.

        A pod that waits for a view newer than its last deed waits for one that is newer than this moment.
        """
        if self.known_at is not None:
            self.deed_at = NEVER_AT if self.fresh else now
            self.known_at = 0.0
        self.looked_at = None
        self.synced_at = min(self.synced_at, now)
        # Nothing is to wait until the clock has caught up: what paused is tried now, and counts as the first failure.
        self.end_pauses(now)
        self.crashes.clear()
        self.broken_off = {}
        if self.running is not None:
            self.running.crashes = {}
        self.pulls.clear()
        self.resync_at = min(self.resync_at, now)

    def sort_instances(self) -> None:
        """Find the newest instance of each container, and the one before; nothing while no view has come."""
        if self.known_at is None:
            return
        newest: dict[str, ContainerSeen] = {}
        previous: dict[str, ContainerSeen] = {}
        for seen in self.containers:
            first = newest.setdefault(seen.name, seen)
            if first is not seen:
                previous.setdefault(seen.name, seen)
            elif seen.attempt > self.attempts.get(seen.name, -1):
                self.attempts[seen.name] = seen.attempt
        self._remember_lost(newest, previous)
        self._remember_ends(newest, previous)
        self.newest, self.previous = newest, previous
        if self.restarting_all:
            self._drop_restarted()
        for name, last in self.restarted.items():
            previous.setdefault(name, last)

    def _remember_lost(self, newest: dict[str, ContainerSeen], previous: dict[str, ContainerSeen]) -> None:
        """A run counts also when its container was removed behind our back (case SYNC-3)."""
        at = self.known_at or 0.0
        if self.fresh:
            for started in self.started.values():
                known = newest.get(started.name) or self.newest.get(started.name)
                if known is None or known.attempt < started.attempt:
                    home = self.sandboxes[0].id if self.sandboxes else ""
                    self.newest[started.name] = _lost(_unseen(started, home, at), at)
            self.started = {}
        for name, last in self.newest.items():
            now = newest.get(name)
            if last.state == CREATED or (now is not None and _supersedes(now, last)):
                continue
            if now is not None:
                previous[name] = now
            newest[name] = _lost(last, at)

    def _remember_ends(self, newest: dict[str, ContainerSeen], previous: dict[str, ContainerSeen]) -> None:
        """The end before the newest instance is told on, also when its container was pruned (section 6.2)."""
        for name, last in self.newest.items():
            now, before = newest.get(name), self.previous.get(name)
            if now is None:
                if before is not None and before is not self.restarted.get(name):
                    newest[name] = before
            elif name not in previous:
                if now.id != last.id and last.state != CREATED:
                    previous[name] = _lost(last, self.known_at or 0.0)
                elif before is not None and before.id != now.id:
                    previous[name] = before


def _supersedes(now: ContainerSeen, last: ContainerSeen) -> bool:
    # By attempt first: the clock may have been set back between the two.
    newer = (now.attempt, now.created_at) >= (last.attempt, last.created_at)
    return now.id == last.id or newer or now.state in LIVE


def _lost(last: ContainerSeen, at: float) -> ContainerSeen:
    if last.state == EXITED:
        return last
    return replace(
        last, state=EXITED, exit_code=STATUS_UNKNOWN_EXIT, reason=STATUS_UNKNOWN, message=LOST_MESSAGE, finished_at=at
    )


def _unseen(started: Started, sandbox_id: str, at: float) -> ContainerSeen:
    """What stands for a container that was started and gone before anybody looked."""
    return ContainerSeen(
        id=started.id, name=started.name, sandbox_id=sandbox_id, attempt=started.attempt, state=RUNNING, created_at=at,
        started_at=at, finished_at=0.0, exit_code=0, reason="", message="", image="", image_ref="", annotations={},
    )  # fmt: skip
