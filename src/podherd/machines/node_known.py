"""What the API server has of the node, as far as others decide it (kubelet behaviour, section 7). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from podherd.machines.node_conditions import KINDS
from podherd.model.status import epoch_of

OWN = (
    "addresses", "allocatable", "capacity", "daemonEndpoints", "features", "images", "nodeInfo", "runtimeHandlers",
    "volumesInUse",
)  # fmt: skip
"""Fields of a v1.NodeStatus that a kubelet writes, its conditions apart."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the API server has of the node, as far as others decide it. uid: empty as long as it is not known.

    conditions: type to status and the time of its last transition. boot_id: as last told. capacity, allocatable: by
    resource. own: what of the status a kubelet writes, without heartbeats, to be compared with what was written.
    """

    uid: str = ""
    deleting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[tuple[str, str, str], ...] = ()
    volumes_attached: tuple[str, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    unschedulable: bool = False
    boot_id: str = ""
    conditions: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    capacity: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)


def known_of(node: dict[str, Any]) -> Known:
    """What matters of a v1.Node."""
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    return Known(
        uid=metadata["uid"],
        deleting=metadata.get("deletionTimestamp") is not None,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        taints=tuple((each["key"], each.get("value") or "", each["effect"]) for each in spec.get("taints") or ()),
        volumes_attached=tuple(each["name"] for each in status.get("volumesAttached") or ()),
        volumes_in_use=tuple(status.get("volumesInUse") or ()),
        unschedulable=bool(spec.get("unschedulable")),
        boot_id=(status.get("nodeInfo") or {}).get("bootID") or "",
        conditions={
            each["type"]: (each["status"], epoch_of(each.get("lastTransitionTime") or ""))
            for each in status.get("conditions") or ()
        },
        capacity=status.get("capacity") or {},
        allocatable=status.get("allocatable") or {},
        own=_own(status),
    )


def _own(status: dict[str, Any]) -> dict[str, Any]:
    conditions = {
        each["type"]: (each["status"], each.get("reason"), each.get("message"))
        for each in status.get("conditions") or ()
        if each["type"] in KINDS
    }
    return {name: status.get(name) for name in OWN} | {"conditions": conditions}
