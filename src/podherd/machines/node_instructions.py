"""What the node machine tells its shell to do."""

from dataclasses import dataclass, field
from typing import TypeAlias

from podherd.machines.shutdown import Instruction as OfShutdown
from podherd.wire.node import NodeFacts, NodeState, RuntimeState
from podherd.wire.status import NodeEvent


@dataclass(frozen=True, slots=True)
class TellShards:
    """Send to every shard."""

    state: RuntimeState


@dataclass(frozen=True, slots=True)
class TellShard:
    """Send to this shard."""

    actor: str
    state: RuntimeState


@dataclass(frozen=True, slots=True)
class TellServer:
    """Send to the server."""

    state: NodeState


@dataclass(frozen=True, slots=True)
class TellFacts:
    """Send to this actor; to every one that needs them where it is empty."""

    actor: str
    facts: NodeFacts


@dataclass(frozen=True, slots=True)
class Report:
    """Patch the Node's status; msgpack of a v1.NodeStatus. Answered with Reported or ReportFailed.

    labels: that are to be put right.
    """

    status: bytes
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Emit:
    """Record an event about the node."""

    event: NodeEvent


Instruction: TypeAlias = TellShards | TellShard | TellServer | TellFacts | Report | Emit | OfShutdown
