"""What the status machine hears beside messages: the outcomes of its own instructions, each exactly once."""

from dataclasses import dataclass
from typing import TypeAlias

from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.node import NodeFacts
from podherd.wire.status import PodForgotten, StatusChanged


@dataclass(frozen=True, slots=True)
class Patched:
    """The API server took the patch. status: msgpack of the v1.PodStatus as it stands there now."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    deleting: bool
    status: bytes


@dataclass(frozen=True, slots=True)
class Deleted:
    """The API object is gone, by this order or before it."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class MirrorMade:
    """The mirror pod is there, under this uid. status: msgpack of its v1.PodStatus."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    status: bytes


@dataclass(frozen=True, slots=True)
class Failed:
    """The request came to nothing, as far as is known. Fields as of ApiError; status 0: there was no answer."""

    namespace: str
    name: str
    status: int
    code: str
    reason: str
    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Woke:
    """The time of a WakeAt has come."""


Outcome: TypeAlias = Patched | Deleted | MirrorMade | Failed
Told: TypeAlias = StatusChanged | PodForgotten | ApiPod | ApiPodGone | Desired | Gone
"""Messages about one pod."""
Event: TypeAlias = Told | ApiRoster | Roster | NodeFacts | Outcome | Woke
