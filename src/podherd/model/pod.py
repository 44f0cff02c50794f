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


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod spec; `body` is its defaulted v1.Container."""

    name: str
    image: str
    kind: ContainerKind
    image_pull_policy: str
    body: Body


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

    @property
    def key(self) -> str:
        """`namespace/name`, as users write it."""
        return f"{self.namespace}/{self.name}"
