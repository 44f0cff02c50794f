"""What the API server holds of this node's pods: the sources actor, which follows it, to the status actor."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApiPod:
    """One pod of this node as the API server has it, mirror pods too. The last one for a uid wins.

    mirror_of: the value of its annotation `kubernetes.io/config.mirror`; empty for a pod that is no mirror.
    status: msgpack of its v1.PodStatus. resource_version: opaque, of the object that this was taken from.
    restarts: `podherd.machines.status.restarts.told_restarts(spec)`; empty: which container may restart is not known.
    """

    uid: str
    namespace: str
    name: str
    resource_version: str
    deleting: bool
    mirror_of: str
    status: bytes
    restarts: bytes = b""


@dataclass(frozen=True, slots=True)
class ApiPodGone:
    """The API server has this pod no more."""

    uid: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class ApiRoster:
    """Every uid that the API server holds for this node, after each full list and after a Hello; each was told before.

    A pod that is not listed is gone.
    """

    uids: tuple[str, ...]
