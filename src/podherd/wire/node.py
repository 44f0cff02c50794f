"""Facts about the node and the runtime's health, to the node actor and the server."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PlegHealth:
    """When the PLEG last began a successful relist (kubelet behaviour, section 4: unhealthy after 3 min).

    relist_s: how long that relist took, both lists and the diff. stale_pods: uids that cannot be inspected now.
    """

    last_relist_at: float
    relist_s: float
    sandboxes: int
    containers: int
    stale_pods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeState:
    """The node as it stands; `node` is msgpack of a v1.Node."""

    at: float
    node: bytes


@dataclass(frozen=True, slots=True)
class Taint:
    """One v1.Taint."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """The node as admission and others must know it. Told at the start (from this machine alone) and when it changes.

    uid: of the Node object; empty as long as none is known. deleting: it has a deletionTimestamp.
    capacity, allocatable: resource to quantity. pressure: conditions that are True, `MemoryPressure` and so on.
    volumes_attached: `status.volumesAttached[].name`. shutting_down: new pods are refused (NodeShutdown).
    csi_sockets: driver name to the path of its socket. volumes_in_use: `status.volumesInUse`, as the API server has it.
    strict_groups: the runtime follows `supplementalGroupsPolicy: Strict`, or has not said yet whether it does.
    """

    name: str
    uid: str
    deleting: bool
    labels: dict[str, str]
    annotations: dict[str, str]
    taints: tuple[Taint, ...]
    capacity: dict[str, str]
    allocatable: dict[str, str]
    pressure: tuple[str, ...] = ()
    volumes_attached: tuple[str, ...] = ()
    shutting_down: bool = False
    csi_sockets: dict[str, str] = field(default_factory=dict)
    volumes_in_use: tuple[str, ...] = ()
    strict_groups: bool = True


@dataclass(frozen=True, slots=True)
class VolumesInUse:
    """Attachable volumes (`kubernetes.io/csi/<driver>^<handle>`) that pods of the sending shard use or still hold."""

    shard: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """Node actor to shards: may pods be synced, may new sandboxes be made (CRI Status: RuntimeReady, NetworkReady).

    host_ips: the node's addresses now; empty when the sender does not know.
    """

    runtime_ready: bool
    network_ready: bool
    message: str
    cgroup_driver: str
    host_ips: tuple[str, ...] = ()
