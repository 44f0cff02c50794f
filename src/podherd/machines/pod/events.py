"""What the pod machine hears; Gone, Roster, Evict, Observed, ObservedRoster, RuntimeState, Drain are the wire's own."""

from dataclasses import dataclass

from podherd.model.pod import Pod
from podherd.wire.control import Drain
from podherd.wire.desired import Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import RuntimeState
from podherd.wire.observed import Observed, ObservedRoster


@dataclass(frozen=True, slots=True)
class Wanted:
    """A source wants this pod: the wire's Desired with its body parsed; the words of refusal and resize as there."""

    pod: Pod
    cause: str
    refused: str = ""
    refused_message: str = ""
    resize_pending: str = ""
    resize_message: str = ""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A source wants this pod but its body cannot be parsed; the pod is reported, never dropped in silence."""

    uid: str
    namespace: str
    name: str
    problem: str


@dataclass(frozen=True, slots=True)
class Woke:
    """The time of a WakeAt has come."""

    uid: str


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """Directories of this pod were found at the shard's start; unless somebody wants the pod they are cleared away."""

    uid: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ObjectsChanged:
    """Something that the pod refers to (a ConfigMap, a Secret, a token) can be had now, or is another than it was."""

    uid: str


@dataclass(frozen=True, slots=True)
class RuntimeBack:
    """The runtime was away and answers again: what failed meanwhile is worth trying at once."""


@dataclass(frozen=True, slots=True)
class SandboxFailed:
    """No sandbox could be made: the CRI's message."""

    message: str


@dataclass(frozen=True, slots=True)
class StartFailed:
    """A container could not be started; `reason` is the kubelet's waiting reason (sections 3.6 and 3.7).

    image_pull: the reason came from a failed pull, which moves the image's back-off. image: that of a volume, where it
    is not the container's own that was asked for. After `PostStartHookError` the container ran and was stopped again:
    the next view shows its end.
    """

    name: str
    reason: str
    message: str
    image_pull: bool = False
    image: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """A container was created and started under this id and attempt."""

    name: str
    id: str
    attempt: int


@dataclass(frozen=True, slots=True)
class NodeVolumesChanged:
    """Other CSI drivers are registered, or other volumes attached to the node: what waits for them may go on."""


@dataclass(frozen=True, slots=True)
class RepublishDue:
    """Volumes of the pod are to be published once more, as their CSI driver asks for (`requiresRepublish`)."""

    uid: str


@dataclass(frozen=True, slots=True)
class HookEnded:
    """The preStop hook of container `id` ran, failed or was given up: it is not to run again, whatever follows."""

    id: str


@dataclass(frozen=True, slots=True)
class StepFailed:
    """A step of the plan failed as a whole: `kill`, `stop`, `remove`, `release`, `dirs`, `volumes`, `clean_up`."""

    step: str
    message: str


StepResult = SandboxFailed | StartFailed | Started | HookEnded | StepFailed


@dataclass(frozen=True, slots=True)
class Synced:
    """The answer to a Sync. did: whether any CRI call that changes something was tried. cancelled: by CancelSync."""

    uid: str
    plan_id: int
    ended_at: float
    results: tuple[StepResult, ...]
    did: bool
    cancelled: bool = False


Event = (
    Wanted
    | Unreadable
    | Woke
    | LeftBehind
    | ObjectsChanged
    | NodeVolumesChanged
    | RepublishDue
    | RuntimeBack
    | Synced
    | Gone
    | Evict
    | Roster
    | Observed
    | ObservedRoster
    | RuntimeState
    | Drain
)
