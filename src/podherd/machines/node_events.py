"""What the node machine hears; PlegHealth and VolumesInUse are the wire's own."""

from dataclasses import dataclass
from typing import TypeAlias

from podherd.machines.node import Handler, Image
from podherd.machines.shutdown import ActivePod
from podherd.wire.node import PlegHealth, VolumesInUse


@dataclass(frozen=True, slots=True)
class Looked:
    """The runtime answered. not_ready, no_network: its conditions in the kubelet's words, empty when they are true.

    cgroup_driver: empty when it was not asked.
    """

    runtime_version: str
    not_ready: str
    no_network: str
    cgroup_driver: str
    handlers: tuple[Handler, ...] = ()
    supplemental_groups: bool = False


@dataclass(frozen=True, slots=True)
class NotLooked:
    """The runtime did not answer, or it is not known yet whether it will."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The runtime answers, and is none that can be driven."""

    reason: str


@dataclass(frozen=True, slots=True)
class Addresses:
    """The node's addresses now, its primary family first."""

    ips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Images:
    """Every image, the largest first."""

    images: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class ApiNode:
    """The Node object as the API server has it: msgpack of the v1.Node; empty: there is none."""

    body: bytes


@dataclass(frozen=True, slots=True)
class CsiSockets:
    """The registered CSI drivers, all of them: name to the path of its socket."""

    sockets: dict[str, str]


@dataclass(frozen=True, slots=True)
class CsiNodeState:
    """trouble: why the node's CSINode object is not there, in the kubelet's words; empty once it is."""

    trouble: str


@dataclass(frozen=True, slots=True)
class Reported:
    """The API server has taken a status; msgpack of the v1.Node as it stands there."""

    body: bytes


@dataclass(frozen=True, slots=True)
class ReportFailed:
    """The API server did not take the status."""


@dataclass(frozen=True, slots=True)
class FactsWanted:
    """This actor knows nothing of the node."""

    actor: str


@dataclass(frozen=True, slots=True)
class ShardStarted:
    """A pod shard knows nothing yet."""

    actor: str


@dataclass(frozen=True, slots=True)
class ServerStarted:
    """The server knows nothing yet."""


@dataclass(frozen=True, slots=True)
class ShuttingDown:
    """The machine is going to shut down (PrepareForShutdown of logind); active False: it was called off."""

    active: bool


@dataclass(frozen=True, slots=True)
class ActivePods:
    """Every pod of a shard of which something runs, or is mounted."""

    shard: str
    pods: tuple[ActivePod, ...]


@dataclass(frozen=True, slots=True)
class Woke:
    """A WakeAt is due."""


Event: TypeAlias = (
    Looked
    | NotLooked
    | Refused
    | Addresses
    | Images
    | ApiNode
    | CsiSockets
    | CsiNodeState
    | Reported
    | ReportFailed
    | ShuttingDown
    | ActivePods
    | Woke
    | FactsWanted
    | PlegHealth
    | VolumesInUse
    | ShardStarted
    | ServerStarted
)
