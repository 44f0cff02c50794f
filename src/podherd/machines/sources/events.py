"""What the sources machine hears. An *origin* is one file or one URL; a *source* is file, http or api."""

from dataclasses import dataclass


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


Event = OriginRead | OriginBad | OriginGone | SourceListed | Noted | Started | ShardStarted | ServerStarted
