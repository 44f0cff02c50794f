"""What the pod machine tells its shell to do. The deeds themselves stand in `podherd.steps`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podherd.model.pod import Pod
from podherd.wire.observed import Reinspect
from podherd.wire.status import PodEvent


@dataclass(frozen=True, slots=True)
class KillContainer:
    """Stop one container: Killing event with `message`, then StopContainer with `grace_s`."""

    id: str
    name: str
    grace_s: int
    message: str


@dataclass(frozen=True, slots=True)
class StartContainer:
    """Make the image present by policy, then create and start one container of the pod's spec.

    attempt: restart count and log number, at least this (log files left by a wiped runtime raise it, case STATE-3).
    pull_allowed: False inside the image's back-off: an absent image is then ImagePullBackOff, not a pull.
    back_off: the earlier pull error, for the message.
    """

    name: str
    attempt: int
    pull_allowed: bool = True
    back_off: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """All of one sync of one pod, done in this order (kubelet behaviour, section 3.2). An empty plan does nothing.

    kill: containers to stop, in parallel. stop_sandboxes: ids, after the kills. remove_containers, remove_sandboxes:
    dead ones to remove. make_sandbox: the attempt of a new sandbox, None for none. sandbox_id: where to start
    containers when no new one is made. start: in order. clean_up: remove the pod's directories and logs (last deed).
    """

    kill: tuple[KillContainer, ...] = ()
    stop_sandboxes: tuple[str, ...] = ()
    remove_containers: tuple[str, ...] = ()
    remove_sandboxes: tuple[str, ...] = ()
    make_sandbox: int | None = None
    sandbox_id: str = ""
    start: tuple[StartContainer, ...] = ()
    clean_up: bool = False


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
    """The pod's status is now this v1.PodStatus; only sent when it differs from the last one."""

    uid: str
    namespace: str
    name: str
    source: str
    deleting: bool
    created_at: float
    status: Mapping[str, Any]


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


Instruction = Sync | CancelSync | Publish | Forget | Record | WakeAt | LookAgain | AllStopped | Fault
