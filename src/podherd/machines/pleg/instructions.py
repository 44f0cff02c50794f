"""What the PLEG machine tells its shell to do. Each answer comes back as an event."""

from collections.abc import Mapping
from dataclasses import dataclass

from podherd.wire.node import PlegHealth
from podherd.wire.observed import Observed, ObservedRoster


@dataclass(frozen=True, slots=True)
class Relist:
    """List everything; answer with Relisted at `at`, or RelistFailed."""

    at: float


@dataclass(frozen=True, slots=True)
class Locate:
    """List one pod's sandboxes and containers; answer with Located at `at`, or LookFailed."""

    uid: str
    at: float


@dataclass(frozen=True, slots=True)
class Inspect:
    """Ask for the status of each id in `states` (by which a sandbox is told from a container).

    Answer with Inspected, its Observed at `at`, or LookFailed. What is gone by now is left out.
    """

    uid: str
    namespace: str
    name: str
    at: float
    states: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tell:
    """Send to the pod's shard."""

    observed: Observed


@dataclass(frozen=True, slots=True)
class TellRoster:
    """Send to this shard, after everything told before."""

    shard: int
    roster: ObservedRoster


@dataclass(frozen=True, slots=True)
class TellHealth:
    """Send to the node actor and the server."""

    health: PlegHealth


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Give Woke at this time; the newest replaces the older ones."""

    at: float


Instruction = Relist | Locate | Inspect | Tell | TellRoster | TellHealth | WakeAt
