"""What the objects machine tells its shell to do."""

from dataclasses import dataclass

from podherd.wire.objects import ObjectState, Ref

ALL_SERVICES = Ref("Services", "", "")
"""What is followed for all namespaces together."""


@dataclass(frozen=True, slots=True)
class Follow:
    """List and watch it until Stop; every outcome is a Learned or Failed (of services their own events)."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Fetch:
    """Ask for it once: answered by one Learned, TokenGiven or Failed."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Stop:
    """Nobody needs it, or it never changes: end its Follow or Fetch."""

    ref: Ref


@dataclass(frozen=True, slots=True)
class Tell:
    """Send the state to a shard."""

    shard: str
    state: ObjectState


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Send Woke once the clock reads `at`; a later WakeAt replaces this one."""

    at: float


Instruction = Follow | Fetch | Stop | Tell | WakeAt
