"""The node as the agent knows it, and its v1.Node (kubelet behaviour, sections 4 and 7). Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from podherd.machines import node_conditions as words
from podherd.machines.capacity import Amounts, Quantities, Reserve, allocatable, capacity, extended, gone, present
from podherd.machines.node_known import Known
from podherd.machines.pleg.health import pleg_trouble
from podherd.machines.times import NEVER_AT
from podherd.model.status import rfc3339
from podherd.wire.node import PlegHealth, RuntimeState

RUNTIME_DOWN_S = 30.0
"""A runtime that was last well longer ago than this is down."""
ATTACH = "volumes.kubernetes.io/controller-managed-attach-detach"
IMAGE_NAMES = 5
"""How many names of one image a node's status tells."""
KEPT = ("kubernetes.io/os", "kubernetes.io/arch")
"""Labels that are put right with every status."""


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
    shards: int = 0
    """How many shards tell of volumes in use."""

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
    csi_sockets: dict[str, str] = field(default_factory=dict)
    """Registered CSI drivers: name to socket."""
    csi_trouble: str = ""
    """Why the node's CSINode object is not there yet."""
    pressure: tuple[str, ...] = ()
    shutting_down: bool = False
    zeroed: tuple[str, ...] = ()
    """Extended resources that are to be told as none: the machine has rebooted, their devices must be found anew."""
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
        down = list(self._runtime_troubles(now, self.pleg is not None))
        reason = words.ready_words(down)[1] if down else self.no_network
        return RuntimeState(not down, not self.no_network, reason, self.cgroup_driver, self.facts.ips)

    def _runtime_troubles(self, now: float, pleg_too: bool) -> Iterator[str]:
        """A runtime that answers that it is not ready is no sign of life: it is down too after a while."""
        if self.runtime_ok_at == NEVER_AT:
            yield "container runtime status check may not have completed yet"
        elif now - self.runtime_ok_at > RUNTIME_DOWN_S:
            yield "container runtime is down"
        if pleg_too and (trouble := pleg_trouble(self.pleg, now)):
            yield trouble
        if self.not_ready:
            yield self.not_ready

    def troubles(self, now: float) -> list[str]:
        """Everything that keeps the node from being ready, in the kubelet's order."""
        ending = words.SHUTTING_DOWN if self.shutting_down else ""
        others = (self.no_network, self.csi_trouble, ending)
        return [*self._runtime_troubles(now, True), *(why for why in others if why)]

    def statuses(self, now: float) -> dict[str, bool]:
        """Which of its conditions hold."""
        return {kind: kind in self.pressure for kind in words.PRESSURES} | {words.READY: not self.troubles(now)}

    def lacking_labels(self) -> dict[str, str]:
        """What the API server should have among the labels, and has not."""
        labels = self.facts.labels
        return {key: labels[key] for key in KEPT if self.known.labels.get(key) != labels[key]}

    def capacity(self) -> Quantities:
        """`status.capacity` as it is to be patched; extended resources are their owners', but for a reset."""
        own = capacity(self.facts.amounts) | dict.fromkeys(self.zeroed, "0")
        return {**own, **gone(self.known.capacity, own | extended(self.known.capacity))}

    def allocatable(self) -> Quantities:
        """`status.allocatable` as it is to be patched: of extended resources all that their owners tell."""
        facts = self.facts
        own = allocatable(facts.amounts, facts.reserve) | extended(self.known.capacity)
        own |= dict.fromkeys(self.zeroed, "0")
        return {**own, **gone(self.known.allocatable, own)}

    def object(self, now: float) -> dict[str, Any]:
        """The v1.Node, as a new one would be created; its status as it stands."""
        facts = self.facts
        spec: dict[str, Any] = {}
        if facts.taints:
            spec["taints"] = [{"key": key, "value": value, "effect": effect} for key, value, effect in facts.taints]
        if facts.provider_id:
            spec["providerID"] = facts.provider_id
        metadata = {"name": facts.node_name, "labels": facts.labels, "annotations": facts.annotations}
        status = self.status(now)
        for name in ("capacity", "allocatable"):
            status[name] = present(status[name])
        return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status}

    def status(self, now: float) -> dict[str, Any]:
        """The v1.NodeStatus (section 7), Ready last among its conditions."""
        facts = self.facts
        addresses = [{"type": "InternalIP", "address": ip} for ip in facts.ips]
        swap = {"swap": {"capacity": facts.swap_bytes}} if facts.swap_bytes else {}
        told: dict[str, Any] = {
            "capacity": self.capacity(),
            "allocatable": self.allocatable(),
            "conditions": [self._condition(kind, on, now) for kind, on in self.statuses(now).items()],
            "addresses": [*addresses, {"type": "Hostname", "address": facts.hostname}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": facts.port}},
            "nodeInfo": {**facts.info, **swap, "containerRuntimeVersion": self.runtime_version},
            "images": self._images(),
            "volumesInUse": list(self.volumes_in_use()),
        }
        if self.handlers:
            told["runtimeHandlers"] = [_handler(each) for each in self.handlers]
        if self.runtime_version:
            told["features"] = {"supplementalGroupsPolicy": self.supplemental_groups}
        return told

    def volumes_in_use(self) -> tuple[str, ...]:
        """Sorted names. Until every shard has told what its pods hold, what was told before stands too (section 7)."""
        names = {name for names in self.in_use.values() for name in names}
        if len(self.in_use) < self.facts.shards:
            names.update(self.known.volumes_in_use)
        return tuple(sorted(names))

    def _images(self) -> list[dict[str, Any]]:
        most = self.facts.most_images
        told = self.images if most < 0 else self.images[:most]
        return [{"names": list(each.names[:IMAGE_NAMES]), "sizeBytes": each.size_bytes} for each in told]

    def _condition(self, kind: str, on: bool, now: float) -> dict[str, str]:
        """Its time of transition is the API's as long as its status is the one that the API has."""
        status = "True" if on else "False"
        ready = kind == words.READY
        reason, message = words.ready_words(self.troubles(now)) if ready else words.pressure_words(kind, on)
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
