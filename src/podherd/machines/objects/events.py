"""What the objects machine hears."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podherd.wire.objects import Needs, Ref

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Needed:
    """A shard said what a pod needs now."""

    shard: str
    needs: Needs


@dataclass(frozen=True, slots=True)
class ShardStarted:
    """A shard has begun anew: it says again what it needs."""

    shard: str


@dataclass(frozen=True, slots=True)
class Learned:
    """The object as it stands; None: there is none."""

    ref: Ref
    body: Json | None


@dataclass(frozen=True, slots=True)
class TokenGiven:
    """A token was made: `status` of the TokenRequest. expires_at: as the server says it."""

    ref: Ref
    status: Json
    expires_at: float


@dataclass(frozen=True, slots=True)
class CertificateGiven:
    """A certificate was issued. body: `key` and `chain` as PEM. refresh_at, expires_at: as the signer says it."""

    ref: Ref
    body: Json
    refresh_at: float
    expires_at: float


@dataclass(frozen=True, slots=True)
class Refused:
    """It was asked for and will never be given."""

    ref: Ref
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """It could not be had: the HTTP status, 0 for no answer, and the reason. What is known stands."""

    ref: Ref
    status: int
    reason: str


@dataclass(frozen=True, slots=True)
class ServicesListed:
    """Every service of the cluster."""

    bodies: tuple[Json, ...]


@dataclass(frozen=True, slots=True)
class ServicePut:
    """A service is new or has changed."""

    body: Json


@dataclass(frozen=True, slots=True)
class ServiceDropped:
    """A service is gone."""

    body: Json


@dataclass(frozen=True, slots=True)
class Woke:
    """The time of a WakeAt has come."""


Event = (
    Needed
    | ShardStarted
    | Learned
    | TokenGiven
    | CertificateGiven
    | Refused
    | Failed
    | ServicesListed
    | ServicePut
    | ServiceDropped
    | Woke
)
