"""Facts about the node and the runtime's health, to the node actor and the server."""

from dataclasses import dataclass


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
class RuntimeState:
    """Node actor to shards: may pods be synced, may new sandboxes be made (CRI Status: RuntimeReady, NetworkReady).

    host_ips: the node's addresses now; empty when the sender does not know.
    """

    runtime_ready: bool
    network_ready: bool
    message: str
    cgroup_driver: str
    host_ips: tuple[str, ...] = ()
