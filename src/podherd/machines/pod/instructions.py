"""What the pod machine tells its shell to do. The deeds themselves stand in `podherd.steps`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podherd.model.pod import Body, Pod
from podherd.wire.observed import Reinspect
from podherd.wire.status import PodEvent


@dataclass(frozen=True, slots=True)
class KillContainer:
    """Stop one container: Killing event with `message`, preStop hook, turn, then StopContainer (section 3.8).

    grace_s: all that is left of its grace when the plan begins. Hook and waiting are taken from it; StopContainer gets
    the rest, at least 2 s. hook: its v1.LifecycleHandler; None: there is none, it has run, or there is no time for it.
    after: ids of containers of this plan that end before it (a sidecar's); it waits for them within its own grace,
    while its hook runs at once. ip: the pod's address, for an httpGet hook.
    """

    id: str
    name: str
    grace_s: int
    message: str
    hook: Body | None = None
    after: tuple[str, ...] = ()
    ip: str = ""


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Make the image present by policy, then create and start one container of the pod's spec.

    attempt: restart count and log number, at least this (log files left by a wiped runtime raise it, case STATE-3).
    pull_allowed: False inside the image's back-off: an absent image is then ImagePullBackOff, not a pull.
    back_off: the earlier pull error, for the message. target_id: the container whose processes an ephemeral container
    joins; empty for none. held: images that its volumes may show and that are in back-off, each with its pull error.
    """

    name: str
    attempt: int
    pull_allowed: bool = True
    back_off: str = ""
    target_id: str = ""
    held: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ResizeContainer:
    """Give the running container `id` the resources that the pod's spec grants to the container of this name."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All of one sync of one pod, done in this order (kubelet behaviour, section 3.2). An empty plan does nothing.

    kill: containers to stop, in parallel. stop_sandboxes: ids, after the kills. remove_containers, remove_sandboxes:
    dead ones to remove. make_sandbox: the attempt of a new sandbox, None for none. sandbox_id: where to start
    containers when no new one is made. start: in order, of any kind; the failure of a plain init container, or of a
    sidecar while others wait for it, ends the list. clean_up: release it, and remove its directories and logs (last
    deed). refresh: write the files in its volumes anew; no container is touched. release: unmount and remove its
    volumes, remove its cgroup; dead containers and logs stay. resize: containers that run on with other resources.
    why: in a few words for people (`podherd story`); not a part of what is done.
    """

    kill: tuple[KillContainer, ...] = ()
    stop_sandboxes: tuple[str, ...] = ()
    remove_containers: tuple[str, ...] = ()
    remove_sandboxes: tuple[str, ...] = ()
    make_sandbox: int | None = None
    sandbox_id: str = ""
    start: tuple[StartContainer, ...] = ()
    clean_up: bool = False
    refresh: bool = False
    release: bool = False
    resize: tuple[ResizeContainer, ...] = ()
    why: str = field(default="", compare=False)

    @property
    def only_clears(self) -> bool:
        """Whether it is made for a pod of which nothing runs any more."""
        return self.clean_up or self.release


@dataclass(frozen=True, slots=True)
class Sync:
    """Do `plan` for the pod; answered by exactly one Synced with the same plan_id, also after a failure.

    pod is None for a pod that is known from the runtime alone (then the plan only kills, removes, cleans up).
    """

    uid: str
    namespace: str
    name: str
    plan_id: int
    pod: Pod | None
    plan: Plan


@dataclass(frozen=True, slots=True)
class CancelSync:
    """Stop doing this plan as soon as may be; its Synced still comes, with what was done."""

    uid: str
    plan_id: int


@dataclass(frozen=True, slots=True)
class Publish:
    """The pod's status is now this v1.PodStatus; only sent when it differs from the last one.

    stopped: nothing of it runs or will. finished: so, and its volumes are unmounted and its cgroup is gone.
    """

    uid: str
    namespace: str
    name: str
    source: str
    deleting: bool
    created_at: float
    status: Mapping[str, Any]
    sidecars: tuple[str, ...] = ()
    finished: bool = False
    stopped: bool = False


@dataclass(frozen=True, slots=True)
class Over:
    """Nothing of this pod runs and nothing will: what it had of the node is free again. Told once."""

    uid: str


@dataclass(frozen=True, slots=True)
class Forget:
    """Nothing of the pod is left; drop whatever the shell keeps for it."""

    uid: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Record:
    """Record a Kubernetes event."""

    event: PodEvent


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send Woke(uid) once the clock reads `at`; a later WakeAt for the uid replaces this one. A uid may be ""."""

    uid: str
    at: float


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Ask the PLEG to inspect the pod."""

    reinspect: Reinspect


@dataclass(frozen=True, slots=True)
class AllStopped:
    """Answer to Drain: no pod of this shard runs any more."""


@dataclass(frozen=True, slots=True)
class Fault:
    """The code threw while it dealt with this pod (uid "": with none alone): log it; it is tried again later."""

    uid: str
    error: Exception


Instruction = Sync | CancelSync | Publish | Over | Forget | Record | WakeAt | LookAgain | AllStopped | Fault
