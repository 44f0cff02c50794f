"""What the sources machine hears. An *origin* is one file or one URL; a *source* is file, http or api."""

from dataclasses import dataclass

from podherd.wire.node import NodeFacts
from podherd.wire.status import PodOver


@dataclass(frozen=True, slots=True)
class StaticPod:
    """One pod of an origin, with its identity. content: differs whenever the pod does. body: msgpack of the v1.Pod."""

    uid: str
    namespace: str
    name: str
    content: str
    body: bytes


@dataclass(frozen=True, slots=True)
class OriginRead:
    """An origin was read and holds exactly these pods; `warnings` are what will not be as the manifest says."""

    source: str
    origin: str
    pods: tuple[StaticPod, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OriginBad:
    """An origin cannot be used. keep: its pods stay as they were last read; else they are dropped."""

    source: str
    origin: str
    problem: str
    keep: bool


@dataclass(frozen=True, slots=True)
class OriginGone:
    """An origin is not there any more."""

    source: str
    origin: str


@dataclass(frozen=True, slots=True)
class SourceListed:
    """All origins of a source were told: the source is seen."""

    source: str


@dataclass(frozen=True, slots=True)
class Noted:
    """Something about a source as a whole, such as a directory that is missing; an empty problem takes it back."""

    thing: str
    problem: str


@dataclass(frozen=True, slots=True)
class Started:
    """The actor began; where no source is configured, everything is known already."""


@dataclass(frozen=True, slots=True)
class ShardStarted:
    """A pod shard knows nothing yet."""

    shard: int


@dataclass(frozen=True, slots=True)
class ServerStarted:
    """The server knows of no problem yet."""


@dataclass(frozen=True, slots=True)
class ApiItem:
    """One pod of this node as the API server has it. content: differs whenever the pod that should run does.

    mirror_of: as in ApiPod; a mirror pod has neither content nor body. body: msgpack of the v1.Pod, empty when it was
    told before under this content. status: msgpack of its v1.PodStatus. refused, message: why it cannot run.
    """

    uid: str
    namespace: str
    name: str
    resource_version: str
    deleting: bool
    mirror_of: str
    content: str
    body: bytes
    status: bytes
    refused: str = ""
    message: str = ""
    restarts: bytes = b""
    """As in ApiPod."""


@dataclass(frozen=True, slots=True)
class ApiListed:
    """The API server has exactly the pods `uids`; `items` are those of them that are new or not as last told."""

    items: tuple[ApiItem, ...]
    uids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ApiPut:
    """A pod is new in the API server, or has changed there."""

    item: ApiItem


@dataclass(frozen=True, slots=True)
class ApiDropped:
    """The API server has this pod no more."""

    uid: str


@dataclass(frozen=True, slots=True)
class StatusStarted:
    """The status actor knows nothing yet."""


@dataclass(frozen=True, slots=True)
class NodeLooked:
    """The labels of the Node object as the API server has it now; None: it could not be read."""

    labels: dict[str, str] | None


Event = (
    OriginRead
    | OriginBad
    | OriginGone
    | SourceListed
    | Noted
    | Started
    | ShardStarted
    | ServerStarted
    | ApiListed
    | ApiPut
    | ApiDropped
    | StatusStarted
    | NodeLooked
    | NodeFacts
    | PodOver
)
