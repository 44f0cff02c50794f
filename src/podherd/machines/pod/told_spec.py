"""What a pod's status takes from its spec alone: worked out once per spec, since a status is told several times."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from podherd.machines.pod.rules import RESTART_ALL
from podherd.model.pod import Body, Container, ContainerKind, Pod
from podherd.model.status import CONTAINER_CREATING, POD_INITIALIZING

Part = dict[str, Any]
"""A part of a v1.PodStatus. Once told it is never written to: later statuses may share it."""

OWN_CONDITIONS = frozenset({
    "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled", "PodResizePending",
    "PodResizeInProgress", "AllContainersRestarting",
})  # fmt: skip
"""Conditions that the node agent owns (kubelet behaviour, section 6.3); all others are kept as they are."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One container's part: `fixed` stands in its status always, `held` once the runtime holds the container."""

    container: Container
    fixed: Part
    held: Part


@dataclass(frozen=True, slots=True)
class ToldSpec:
    """`pod` is the spec that this was made of; handlers: those that can make mounts read-only recursively.

    regular and ephemeral stand by name, inits as in the spec. readers: what the pod's readiness asks for, sidecars
    first. quiet: the state of a container of which nothing is known. gates: the condition types of its readiness gates.
    others: conditions of other owners. api_conditions: our own as the API has them. may_restart_all: a rule says so.
    """

    pod: Pod
    handlers: tuple[str, ...]
    regular: tuple[Frame, ...]
    inits: tuple[Frame, ...]
    ephemeral: tuple[Frame, ...]
    readers: tuple[Container, ...]
    quiet: Part
    generation: int | None
    gates: tuple[str, ...]
    others: tuple[Part, ...]
    api_conditions: dict[str, Part]
    may_restart_all: bool


def told_spec(pod: Pod, handlers: tuple[str, ...]) -> ToldSpec:
    """All of it. handlers: the runtime's that can make a mount read-only with all mounts below it."""
    spec, given = pod.body["spec"], (pod.body.get("status") or {}).get("conditions") or ()
    recursive = (spec.get("runtimeClassName") or "") in handlers
    sidecars = (each for each in pod.init_containers if each.kind is ContainerKind.SIDECAR)
    return ToldSpec(
        pod=pod,
        handlers=handlers,
        regular=_frames(sorted(pod.containers, key=_name), recursive),
        inits=_frames(pod.init_containers, recursive),
        ephemeral=_frames(sorted(pod.ephemeral_containers, key=_name), recursive),
        readers=(*sidecars, *pod.containers),
        quiet={"waiting": {"reason": POD_INITIALIZING if pod.init_containers else CONTAINER_CREATING}},
        generation=pod.body["metadata"].get("generation"),
        gates=tuple(gate["conditionType"] for gate in spec.get("readinessGates") or ()),
        others=tuple(each for each in given if each["type"] not in OWN_CONDITIONS),
        api_conditions={each["type"]: each for each in given if each["type"] in OWN_CONDITIONS},
        may_restart_all=any(map(_may_restart_all, (*pod.init_containers, *pod.containers))),
    )


def _name(container: Container) -> str:
    return container.name


def _may_restart_all(container: Container) -> bool:
    return any(rule.get("action") == RESTART_ALL for rule in container.body.get("restartPolicyRules") or ())


def _frames(containers: Iterable[Container], recursive: bool) -> tuple[Frame, ...]:
    return tuple(_frame(each, recursive) for each in containers)


def _frame(container: Container, recursive: bool) -> Frame:
    mounts = [_mount(each, recursive) for each in container.body.get("volumeMounts") or ()]
    resources = container.body.get("resources") or {}
    held: Part = {"resources": resources}
    if requests := resources.get("requests"):
        held["allocatedResources"] = requests
    return Frame(container, {"volumeMounts": mounts} if mounts else {}, held)


def _mount(mount: Body, recursive: bool) -> Part:
    """A v1.VolumeMountStatus: how deep read-only goes is told of read-only mounts alone (KEP-3857)."""
    told: Part = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        mode = mount.get("recursiveReadOnly")
        whole = mode == "Enabled" or (mode == "IfPossible" and recursive)
        told |= {"readOnly": True, "recursiveReadOnly": "Enabled" if whole else "Disabled"}
    return told
