"""What the node actor tells, to whom and when: shards hear what changed, the server also that nothing did. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from podherd.machines.capacity import extended, present
from podherd.machines.node import Facts, Node
from podherd.machines.node_events import (
    ActivePods,
    Addresses,
    ApiNode,
    CsiNodeState,
    CsiSockets,
    Event,
    FactsWanted,
    Images,
    Looked,
    Refused,
    Reported,
    ReportFailed,
    ServerStarted,
    ShardStarted,
    ShuttingDown,
    Woke,
)
from podherd.machines.node_instructions import Emit, Instruction, TellFacts, TellServer, TellShard, TellShards
from podherd.machines.node_known import Known, known_of
from podherd.machines.node_report import Reporter, Reporting, turned
from podherd.machines.shutdown import Group, HoldShutDown, Shutdown
from podherd.wire import codec
from podherd.wire.node import NodeFacts, NodeState, PlegHealth, RuntimeState, Taint, VolumesInUse
from podherd.wire.status import NodeEvent

HEARTBEAT_S = 10.0
"""How often the server hears of a node on which nothing changed (kubelet behaviour, section 7)."""


class NodeMachine:
    """`handle` alone changes it. reporting: None without an API server. groups: of a graceful shutdown.

    shards: names of the pod shards, which are asked for their pods then.
    """

    def __init__(
        self,
        facts: Facts,
        cgroup_driver: str,
        reporting: Reporting | None = None,
        groups: Sequence[Group] = (),
        shards: Sequence[str] = (),
    ) -> None:
        self._node = Node(facts, cgroup_driver)
        self._reporter = Reporter(self._node, reporting)
        self._groups, self._shards = tuple(groups), tuple(shards)
        self._shutdown: Shutdown | None = None
        self._runtime_told: RuntimeState | None = None
        self._node_told: tuple[float, list[str]] | None = None
        self._facts_told: NodeFacts | None = None

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """Take the events in order, then tell what they changed; who has begun anew is told in any case."""
        self._reporter.wake(now)
        out: list[Instruction] = []
        news = False
        for event in events:
            if isinstance(event, ShardStarted | FactsWanted):
                out += self._greet(event, now)
            else:
                news = True
                out += self._hear(event, now)
        return out + self._news(now) if news else out

    def _greet(self, event: ShardStarted | FactsWanted, now: float) -> list[Instruction]:
        facts = TellFacts(event.actor, self._facts())
        if isinstance(event, FactsWanted):
            return [facts]
        if self._shutdown is not None:
            self._shutdown.forget(event.actor)
        return [TellShard(event.actor, self._node.runtime_state(now)), facts]

    def _hear(self, event: Event, now: float) -> Sequence[Instruction]:
        node = self._node
        match event:
            case Looked():
                self._look(event, now)
            case Refused(reason):
                node.not_ready = reason
            case Addresses(ips):
                node.facts = replace(node.facts, ips=ips)
            case Images(images):
                node.images = images
            case PlegHealth():
                node.pleg = event
            case VolumesInUse(shard, names):
                node.in_use[shard] = names
            case CsiSockets(sockets):
                node.csi_sockets = dict(sockets)
            case CsiNodeState(trouble):
                node.csi_trouble = trouble
            case ServerStarted():
                self._node_told = None
            case _:
                return self._hear_more(event, now)
        return []

    def _hear_more(self, event: Event, now: float) -> Sequence[Instruction]:
        """The API server, and the end of the machine."""
        match event:
            case ReportFailed():
                self._reporter.failed()
            case Reported(body):
                self._reporter.taken(codec.unpack(body))
                self._node.zeroed = ()
            case ApiNode(body):
                return self._known(known_of(codec.unpack(body)) if body else Known(), now)
            case ShuttingDown(active):
                return self._shut_down(now) if active else self._stay(now)
            case ActivePods(shard, pods) if self._shutdown is not None:
                return self._shutdown.hear(now, shard, pods)
            case Woke() if self._shutdown is not None:
                return self._shutdown.look(now)
        return []

    def _look(self, looked: Looked, now: float) -> None:
        node = self._node
        node.runtime_version = looked.runtime_version
        node.not_ready, node.no_network = looked.not_ready, looked.no_network
        node.cgroup_driver = looked.cgroup_driver or node.cgroup_driver
        # Sorted, since a runtime may tell them in any order, and another order is another status.
        node.handlers = tuple(sorted(looked.handlers, key=lambda handler: handler.name))
        node.supplemental_groups = looked.supplemental_groups
        if not looked.not_ready:
            node.runtime_ok_at = now

    def _known(self, known: Known, now: float) -> list[Instruction]:
        node, before = self._node, self._node.known
        node.known = known
        told: list[Instruction] = []
        if known.uid and known.unschedulable != before.unschedulable:
            told.append(turned(now, node, "NodeNotSchedulable" if known.unschedulable else "NodeSchedulable"))
        if known.uid == before.uid:
            self._reporter.look_for_doubt()
        else:
            self._reporter.begin()
            told += self._rebooted(now)
        return told

    def _rebooted(self, now: float) -> list[Instruction]:
        """The Node object is of an earlier boot: devices have to be found anew, whoever tells of them."""
        node = self._node
        boot_id, name = node.facts.info.get("bootID", ""), node.facts.node_name
        if not node.known.boot_id or not boot_id or node.known.boot_id == boot_id:
            return []
        node.zeroed = tuple(extended(node.known.capacity))
        return [Emit(NodeEvent(now, "Warning", "Rebooted", f"Node {name} has been rebooted, boot id: {boot_id}"))]

    def _shut_down(self, now: float) -> list[Instruction]:
        if self._shutdown is not None or not self._groups:
            return []
        self._node.shutting_down = True
        self._shutdown = Shutdown(self._groups, self._shards)
        return [_shutdown_event(now, "event"), *self._shutdown.begin(now)]

    def _stay(self, now: float) -> list[Instruction]:
        """The shutdown is called off. Pods that were ended stay so."""
        if self._shutdown is None:
            return []
        self._node.shutting_down, self._shutdown = False, None
        return [_shutdown_event(now, "cancellation"), HoldShutDown()]

    def _news(self, now: float) -> list[Instruction]:
        node, out = self._node, list[Instruction]()
        if (state := node.runtime_state(now)) != self._runtime_told:
            self._runtime_told = state
            out.append(TellShards(state))
        if (facts := self._facts()) != self._facts_told:
            self._facts_told = facts
            out.append(TellFacts("", facts))
        troubles = [*node.troubles(now), node.runtime_version, *node.facts.ips]
        told = self._node_told
        if told is None or told[1] != troubles or now >= told[0] + HEARTBEAT_S:
            self._node_told = (now, troubles)
            out.append(TellServer(NodeState(now, codec.pack(node.object(now)))))
        return out + self._reporter.due(now)

    def _facts(self) -> NodeFacts:
        node, known = self._node, self._node.known
        facts = node.facts
        taints = known.taints if known.uid else facts.taints
        return NodeFacts(
            name=facts.node_name,
            uid=known.uid,
            deleting=known.deleting,
            labels=dict(known.labels) if known.uid else facts.labels,
            annotations=dict(known.annotations) if known.uid else facts.annotations,
            taints=tuple(Taint(*each) for each in taints),
            capacity=extended(known.capacity) | present(node.capacity()),
            allocatable=present(node.allocatable()),
            pressure=node.pressure,
            volumes_attached=known.volumes_attached,
            shutting_down=node.shutting_down,
            csi_sockets=dict(node.csi_sockets),
            volumes_in_use=known.volumes_in_use,
            strict_groups=node.supplemental_groups or not node.runtime_version,
        )

    def object(self, now: float) -> dict[str, Any]:
        """The v1.Node as it would be created."""
        return self._node.object(now)


def _shutdown_event(now: float, what: str) -> Emit:
    return Emit(NodeEvent(now, "Normal", "Shutdown", f"Shutdown manager detected shutdown {what}"))
