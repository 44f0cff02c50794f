"""A pod as the agent holds it: what decisions read as typed fields, all else in the defaulted API object."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Body = Mapping[str, Any]
"""A defaulted API object (v1.Pod, v1.Container…) as decoded JSON. Read only by agreement: never write to it."""


class ContainerKind(StrEnum):
    """Which list of the pod spec a container stands in; a sidecar is an init container with restartPolicy Always."""

    REGULAR = "regular"
    INIT = "init"
    SIDECAR = "sidecar"
    EPHEMERAL = "ephemeral"


_LISTS = {
    ContainerKind.REGULAR: "spec.containers",
    ContainerKind.INIT: "spec.initContainers",
    ContainerKind.SIDECAR: "spec.initContainers",
    ContainerKind.EPHEMERAL: "spec.ephemeralContainers",
}


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod spec; `body` is its defaulted v1.Container.

    restart_policy: its own `Always`, `OnFailure` or `Never`, empty where the pod's holds (KEP-5307).
    target: `targetContainerName` of an ephemeral container, empty for none.
    """

    name: str
    image: str
    kind: ContainerKind
    image_pull_policy: str
    body: Body
    restart_policy: str = ""
    target: str = ""

    @property
    def field_path(self) -> str:
        """Where it stands in the spec, as events say it: `spec.initContainers{setup}`."""
        return f"{_LISTS[self.kind]}{{{self.name}}}"


@dataclass(frozen=True, slots=True)
class Pod:
    """One desired pod; `body` is the defaulted v1.Pod, `source` is file, http or api."""

    uid: str
    name: str
    namespace: str
    source: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    restart_policy: str
    grace_s: int
    host_network: bool
    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    body: Body
    ephemeral_containers: tuple[Container, ...] = ()
    active_deadline_s: int | None = None

    @property
    def every_container(self) -> tuple[Container, ...]:
        """All kinds, in the order in which they may start: init containers and sidecars, regular, ephemeral ones."""
        return (*self.init_containers, *self.containers, *self.ephemeral_containers)

    @property
    def key(self) -> str:
        """`namespace/name`, as users write it."""
        return f"{self.namespace}/{self.name}"
