"""What the node's status says: its Ready condition and its v1.Node (kubelet behaviour, sections 4 and 7). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podherd.machines.capacity import Amounts, Reserve, allocatable, capacity
from podherd.machines.pleg.health import pleg_trouble
from podherd.machines.times import NEVER_AT
from podherd.model.status import rfc3339
from podherd.wire.node import PlegHealth, RuntimeState

RUNTIME_DOWN_S = 30.0
"""A runtime that was last well longer ago than this is down."""
ATTACH = "volumes.kubernetes.io/controller-managed-attach-detach"
IMAGE_NAMES = 5
"""How many names of one image a node's status tells."""
_PRESSURES = (
    ("MemoryPressure", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available",
     "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure",
     "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasInsufficientPID", "kubelet has insufficient PID available",
     "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """This machine and what was settled about it. info: v1.NodeSystemInfo fields that never change; the ips may.

    given_labels, taints: of the configuration; a taint is key, value, effect. port: of the kubelet API.
    """

    node_name: str
    hostname: str
    ips: tuple[str, ...]
    amounts: Amounts
    info: Mapping[str, str]
    reserve: Reserve = field(default_factory=Reserve)
    given_labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[tuple[str, str, str], ...] = ()
    port: int = 10250
    provider_id: str = ""
    attach_detach: bool = True
    most_images: int = 50
    swap_bytes: int = 0

    @property
    def labels(self) -> dict[str, str]:
        """The labels that every node has."""
        os_and_arch = {"os": self.info["operatingSystem"], "arch": self.info["architecture"]}
        named = {
            f"{prefix}/{key}": value
            for prefix in ("kubernetes.io", "beta.kubernetes.io")
            for key, value in os_and_arch.items()
        }
        return {"kubernetes.io/hostname": self.hostname, **named, **dict(self.given_labels)}

    @property
    def annotations(self) -> dict[str, str]:
        """Those of a new Node object."""
        return {ATTACH: "true"} if self.attach_detach else {}


@dataclass(frozen=True, slots=True)
class Image:
    """One image; digests come before tags."""

    names: tuple[str, ...]
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Handler:
    """A runtime handler and what it can do (CRI RuntimeHandlerFeatures)."""

    name: str
    recursive_read_only: bool
    user_namespaces: bool


@dataclass(frozen=True, slots=True)
class Known:
    """What the API server has of the node, as far as others decide it. uid: empty as long as it is not known.

    conditions: type to status and the time of its last transition. boot_id: as last told.
    """

    uid: str = ""
    deleting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[tuple[str, str, str], ...] = ()
    volumes_attached: tuple[str, ...] = ()
    unschedulable: bool = False
    boot_id: str = ""
    conditions: Mapping[str, tuple[str, float]] = field(default_factory=dict)


@dataclass(slots=True)
class Node:
    """The node as the agent knows it. Times are epoch seconds of the shell's clock."""

    facts: Facts
    cgroup_driver: str
    runtime_version: str = ""
    runtime_ok_at: float = NEVER_AT
    not_ready: str = ""
    """Why the runtime itself says that it is not ready, in the kubelet's words."""
    no_network: str = ""
    pleg: PlegHealth | None = None
    images: tuple[Image, ...] = ()
    """The largest first."""
    handlers: tuple[Handler, ...] = ()
    supplemental_groups: bool = False
    """Whether the runtime follows `supplementalGroupsPolicy`."""
    in_use: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Attachable volumes that pods of each shard use."""
    pressure: tuple[str, ...] = ()
    shutting_down: bool = False
    known: Known = field(default_factory=Known)
    _turned: dict[str, tuple[str, float]] = field(default_factory=dict)

    def forget_turns(self) -> None:
        """Another Node object, or the first: its conditions' times count."""
        self._turned.clear()

    def forget_turn(self, kind: str) -> None:
        """Somebody else has set this condition: it turns from what the API server has."""
        self._turned.pop(kind, None)

    def runtime_state(self, now: float) -> RuntimeState:
        """What the shards must know: may they sync (section 2.1), may sandboxes be made.

        A PLEG that has not spoken to this actor yet is no trouble: a shard waits for its roster anyway.
        """
        down = self._runtime_trouble(now) or (pleg_trouble(self.pleg, now) if self.pleg else "")
        reason = down or self.no_network
        return RuntimeState(not down, not self.no_network, reason, self.cgroup_driver, self.facts.ips)

    def _runtime_trouble(self, now: float) -> str:
        if self.runtime_ok_at == NEVER_AT:
            return "container runtime status check may not have completed yet"
        if now - self.runtime_ok_at > RUNTIME_DOWN_S:
            return "container runtime is down"
        return self.not_ready

    def troubles(self, now: float) -> list[str]:
        """Everything that keeps the node from being ready."""
        every = (self._runtime_trouble(now), pleg_trouble(self.pleg, now), self.no_network)
        return [why for why in (*every, "node is shutting down" if self.shutting_down else "") if why]

    def object(self, now: float) -> dict[str, Any]:
        """The v1.Node, as a new one would be created; its status as it stands."""
        facts = self.facts
        spec: dict[str, Any] = {}
        if facts.taints:
            spec["taints"] = [{"key": key, "value": value, "effect": effect} for key, value, effect in facts.taints]
        if facts.provider_id:
            spec["providerID"] = facts.provider_id
        metadata = {"name": facts.node_name, "labels": facts.labels, "annotations": facts.annotations}
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": self.status(now)}

    def status(self, now: float) -> dict[str, Any]:
        """The v1.NodeStatus (section 7), Ready last among its conditions."""
        facts = self.facts
        addresses = [{"type": "InternalIP", "address": ip} for ip in facts.ips]
        swap = {"swap": {"capacity": facts.swap_bytes}} if facts.swap_bytes else {}
        told: dict[str, Any] = {
            "capacity": capacity(facts.amounts),
            "allocatable": allocatable(facts.amounts, facts.reserve),
            "conditions": [*self._pressures(now), self._ready(now)],
            "addresses": [*addresses, {"type": "Hostname", "address": facts.hostname}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": facts.port}},
            "nodeInfo": {**facts.info, **swap, "containerRuntimeVersion": self.runtime_version},
            "images": self._images(),
            "features": {"supplementalGroupsPolicy": self.supplemental_groups},
            "volumesInUse": sorted({name for names in self.in_use.values() for name in names}),
        }
        if self.handlers:
            told["runtimeHandlers"] = [_handler(each) for each in self.handlers]
        return told

    def _images(self) -> list[dict[str, Any]]:
        most = self.facts.most_images
        told = self.images if most < 0 else self.images[:most]
        return [{"names": list(each.names[:IMAGE_NAMES]), "sizeBytes": each.size_bytes} for each in told]

    def _pressures(self, now: float) -> list[dict[str, str]]:
        return [
            self._condition(kind, "True", reason, message, now)
            if kind in self.pressure
            else self._condition(kind, "False", well, well_message, now)
            for kind, reason, message, well, well_message in _PRESSURES
        ]

    def _ready(self, now: float) -> dict[str, str]:
        if not (troubles := self.troubles(now)):
            return self._condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", now)
        joined = troubles[0] if len(troubles) == 1 else f"[{', '.join(troubles)}]"
        return self._condition("Ready", "False", "KubeletNotReady", joined, now)

    def _condition(self, kind: str, status: str, reason: str, message: str, now: float) -> dict[str, str]:
        """Its time of transition is the API's as long as its status is the one that the API has."""
        before = self._turned.get(kind) or self.known.conditions.get(kind)
        since = before[1] if before is not None and before[0] == status else now
        self._turned[kind] = status, since
        return {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": rfc3339(now),
            "lastTransitionTime": rfc3339(since),
        }


def _handler(handler: Handler) -> dict[str, Any]:
    features = {"recursiveReadOnlyMounts": handler.recursive_read_only, "userNamespaces": handler.user_namespaces}
    return {"name": handler.name, "features": features}


def condition_trouble(kind: str, status: bool, reason: str, message: str) -> str:
    """A CRI condition that is not true, in the kubelet's words; `kind` is RuntimeReady or NetworkReady."""
    if status:
        return ""
    what = "container runtime network not ready" if kind == "NetworkReady" else "container runtime not ready"
    return f"{what}: {kind}=false reason:{reason} message:{message}"
