"""What the sources machine tells its shell to send."""

from dataclasses import dataclass

from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.status import SourceProblem


@dataclass(frozen=True, slots=True)
class Upsert:
    """Send to this shard: a pod is new, or changed under its UID."""

    shard: int
    message: Desired


@dataclass(frozen=True, slots=True)
class Remove:
    """Send to this shard: a pod is not wanted any more."""

    shard: int
    message: Gone


@dataclass(frozen=True, slots=True)
class List:
    """Send to this shard: every UID that it should have."""

    shard: int
    message: Roster


@dataclass(frozen=True, slots=True)
class Warn:
    """Log this problem and tell the server; an empty problem takes the last one back. Only sent when it changed."""

    message: SourceProblem


@dataclass(frozen=True, slots=True)
class Preempt:
    """Send to this shard: a pod has to give way to a critical one."""

    shard: int
    message: Evict


@dataclass(frozen=True, slots=True)
class TellStatus:
    """Send to the status actor: what the API server holds, or what static pods there are."""

    message: Desired | Gone | Roster | ApiPod | ApiPodGone | ApiRoster


@dataclass(frozen=True, slots=True)
class LookAtNode:
    """Read the Node object and answer with NodeLooked: a pod waits for its labels."""


Instruction = Upsert | Remove | List | Warn | Preempt | TellStatus | LookAtNode
