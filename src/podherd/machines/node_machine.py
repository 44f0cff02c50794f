"""What the node actor tells, to whom and when: shards hear what changed, the server also that nothing did. Pure."""

from dataclasses import dataclass, replace
from typing import TypeAlias

from podherd.machines.node import Facts, Node
from podherd.wire import codec
from podherd.wire.node import NodeState, PlegHealth, RuntimeState

HEARTBEAT_S = 10.0
"""How often the server hears of a node on which nothing changed (kubelet behaviour, section 7)."""


@dataclass(frozen=True, slots=True)
class Looked:
    """The runtime answered. not_ready, no_network: its conditions in the kubelet's words, empty when they are true.

    cgroup_driver: empty when it was not asked.
    """

    runtime_version: str
    not_ready: str
    no_network: str
    cgroup_driver: str


@dataclass(frozen=True, slots=True)
class NotLooked:
    """The runtime did not answer, or it is not known yet whether it will."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The runtime answers, and is none that can be driven."""

    reason: str


@dataclass(frozen=True, slots=True)
class Addresses:
    """The node's addresses now, its primary family first."""

    ips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShardStarted:
    """A pod shard knows nothing yet."""

    actor: str


@dataclass(frozen=True, slots=True)
class ServerStarted:
    """The server knows nothing yet."""


Event: TypeAlias = Looked | NotLooked | Refused | Addresses | PlegHealth | ShardStarted | ServerStarted


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


Instruction: TypeAlias = TellShards | TellShard | TellServer


class NodeMachine:
    """`handle` alone changes it."""

    def __init__(self, facts: Facts, cgroup_driver: str) -> None:
        self._node = Node(facts, cgroup_driver)
        self._runtime_told: RuntimeState | None = None
        self._node_told: tuple[float, list[str]] | None = None

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """Take the events in order, then tell what they changed; a shard that has begun anew is told in any case."""
        out: list[Instruction] = []
        for event in events:
            if isinstance(event, ShardStarted):
                out.append(TellShard(event.actor, self._node.runtime_state(now)))
            else:
                self._hear(event, now)
        if all(isinstance(event, ShardStarted) for event in events):
            return out
        return out + self._news(now)

    def _hear(self, event: Event, now: float) -> None:
        node = self._node
        match event:
            case Looked(version, not_ready, no_network, driver):
                node.runtime_version, node.not_ready, node.no_network = version, not_ready, no_network
                node.cgroup_driver = driver or node.cgroup_driver
                node.runtime_ok_at = now
            case Refused(reason):
                node.not_ready, node.runtime_ok_at = reason, now
            case Addresses(ips):
                node.facts = replace(node.facts, ips=ips)
            case PlegHealth():
                node.pleg = event
            case ServerStarted():
                self._node_told = None

    def _news(self, now: float) -> list[Instruction]:
        node, out = self._node, list[Instruction]()
        if (state := node.runtime_state(now)) != self._runtime_told:
            self._runtime_told = state
            out.append(TellShards(state))
        troubles = [*node.troubles(now), node.runtime_version, *node.facts.ips]
        told = self._node_told
        if told is None or told[1] != troubles or now >= told[0] + HEARTBEAT_S:
            self._node_told = (now, troubles)
            out.append(TellServer(NodeState(now, codec.pack(node.object(now)))))
        return out
