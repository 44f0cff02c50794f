"""What the node actor tells, to whom and when: shards hear what changed, the server also that nothing did. Pure."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from podherd.machines.capacity import allocatable, capacity
from podherd.machines.node import Facts, Handler, Image, Known, Node
from podherd.machines.times import NEVER_AT
from podherd.model.status import epoch_of
from podherd.wire import codec
from podherd.wire.node import NodeFacts, NodeState, PlegHealth, RuntimeState, Taint, VolumesInUse
from podherd.wire.status import NodeEvent

HEARTBEAT_S = 10.0
"""How often the server hears of a node on which nothing changed (kubelet behaviour, section 7)."""
START_S = 30.0
"""How long after its start this actor may not know yet whether the node is well; a Node that was Ready stays so."""
_BEATS = ("lastHeartbeatTime",)
_TURNS = {
    "MemoryPressure": ("NodeHasInsufficientMemory", "NodeHasSufficientMemory"),
    "DiskPressure": ("NodeHasDiskPressure", "NodeHasNoDiskPressure"),
    "PIDPressure": ("NodeHasInsufficientPID", "NodeHasSufficientPID"),
    "Ready": ("NodeReady", "NodeNotReady"),
}
"""Condition to the reason of the event when it turns True, and when it turns False."""


@dataclass(frozen=True, slots=True)
class Reporting:
    """When the API server hears of the node: changes every update_s at most, all of it every report_s at least."""

    update_s: float = 10.0
    report_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Looked:
    """The runtime answered. not_ready, no_network: its conditions in the kubelet's words, empty when they are true.

    cgroup_driver: empty when it was not asked.
    """

    runtime_version: str
    not_ready: str
    no_network: str
    cgroup_driver: str
    handlers: tuple[Handler, ...] = ()
    supplemental_groups: bool = False


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
class Images:
    """Every image, the largest first."""

    images: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class ApiNode:
    """The Node object as the API server has it: msgpack of the v1.Node; empty: there is none."""

    body: bytes


@dataclass(frozen=True, slots=True)
class ReportFailed:
    """The API server did not take the status."""


@dataclass(frozen=True, slots=True)
class FactsWanted:
    """This actor knows nothing of the node."""

    actor: str


@dataclass(frozen=True, slots=True)
class ShardStarted:
    """A pod shard knows nothing yet."""

    actor: str


@dataclass(frozen=True, slots=True)
class ServerStarted:
    """The server knows nothing yet."""


Event: TypeAlias = (
    Looked
    | NotLooked
    | Refused
    | Addresses
    | Images
    | ApiNode
    | ReportFailed
    | FactsWanted
    | PlegHealth
    | VolumesInUse
    | ShardStarted
    | ServerStarted
)


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
    """Patch the Node's status; msgpack of a v1.NodeStatus. A failure is answered with ReportFailed."""

    status: bytes


@dataclass(frozen=True, slots=True)
class Emit:
    """Record an event about the node."""

    event: NodeEvent


Instruction: TypeAlias = TellShards | TellShard | TellServer | TellFacts | Report | Emit


class NodeMachine:
    """`handle` alone changes it. reporting: None without an API server."""

    def __init__(self, facts: Facts, cgroup_driver: str, reporting: Reporting | None = None) -> None:
        self._node = Node(facts, cgroup_driver)
        self._reporting = reporting
        self._runtime_told: RuntimeState | None = None
        self._node_told: tuple[float, list[str]] | None = None
        self._facts_told: NodeFacts | None = None
        self._reported_at = NEVER_AT
        self._reported: dict[str, Any] = {}
        self._was: dict[str, str] = {}
        self._begun_at: float | None = None

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """Take the events in order, then tell what they changed; who has begun anew is told in any case."""
        if self._begun_at is None:
            self._begun_at = now
        out: list[Instruction] = []
        news = False
        for event in events:
            if isinstance(event, ShardStarted):
                out.append(TellShard(event.actor, self._node.runtime_state(now)))
            if isinstance(event, ShardStarted | FactsWanted):
                out.append(TellFacts(event.actor, self._facts()))
            else:
                news = True
                out += self._hear(event, now)
        return out + self._news(now) if news else out

    def _hear(self, event: Event, now: float) -> list[Instruction]:
        node = self._node
        match event:
            case Looked(version, not_ready, no_network, driver, handlers, groups):
                node.runtime_version, node.not_ready, node.no_network = version, not_ready, no_network
                node.cgroup_driver = driver or node.cgroup_driver
                node.handlers, node.supplemental_groups = handlers, groups
                node.runtime_ok_at = now
            case Refused(reason):
                node.not_ready, node.runtime_ok_at = reason, now
            case Addresses(ips):
                node.facts = replace(node.facts, ips=ips)
            case Images(images):
                node.images = images
            case PlegHealth():
                node.pleg = event
            case VolumesInUse(shard, names):
                node.in_use[shard] = names
            case ServerStarted():
                self._node_told = None
            case ReportFailed():
                self._reported_at = NEVER_AT
            case ApiNode(body):
                return self._known(known_of(codec.unpack(body)) if body else Known(), now)
        return []

    def _known(self, known: Known, now: float) -> list[Instruction]:
        node, before = self._node, self._node.known
        node.known = known
        if known.uid == before.uid:
            self._doubted()
            if known.uid and known.unschedulable != before.unschedulable:
                return [self._event(now, "NodeNotSchedulable" if known.unschedulable else "NodeSchedulable")]
            return []
        node.forget_turns()
        self._reported, self._reported_at = {}, NEVER_AT
        self._was = {"Ready": known.conditions["Ready"][0]} if "Ready" in known.conditions else {}
        boot_id, name = node.facts.info.get("bootID", ""), node.facts.node_name
        if known.boot_id and boot_id and known.boot_id != boot_id:
            text = f"Node {name} has been rebooted, boot id: {boot_id}"
            return [Emit(NodeEvent(now, "Warning", "Rebooted", text))]
        return []

    def _doubted(self) -> None:
        """The cluster gave the node up while it could not report: its conditions are Unknown, and turn once more."""
        doubted = [kind for kind in _TURNS if self._node.known.conditions.get(kind, ("", 0.0))[0] == "Unknown"]
        if not doubted:
            return
        self._reported, self._reported_at = {}, NEVER_AT
        for kind in doubted:
            self._was[kind] = "Unknown"
            self._node.forget_turn(kind)

    def _event(self, now: float, reason: str) -> Emit:
        return Emit(NodeEvent(now, "Normal", reason, f"Node {self._node.facts.node_name} status is now: {reason}"))

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
        return out + self._report(now)

    def _report(self, now: float) -> list[Instruction]:
        """Once the Node object is known: at once when a condition turned, else at the configured pace."""
        rules = self._reporting
        if rules is None or not self._node.known.uid:
            return []
        if self._starts(now):
            self._node.forget_turns()  # what the own server is shown meanwhile is no turn
            return []
        due_s = now - self._reported_at
        turned = any(self._was.get(kind) != status for kind, status in self._statuses(now).items())
        if due_s < rules.update_s and not turned:
            return []
        status = self._node.status(now)
        plain = _without_beats(status)
        if plain == self._reported and due_s < rules.report_s:
            return []
        self._reported, self._reported_at = plain, now
        return [*self._turns(now), Report(codec.pack(status))]

    def _starts(self, now: float) -> bool:
        """Runtime or PLEG have not spoken to this actor yet: that is no reason to take back that the node is Ready."""
        node = self._node
        silent = node.runtime_ok_at == NEVER_AT or node.pleg is None
        young = self._begun_at is not None and now < self._begun_at + START_S
        return silent and young and node.known.conditions.get("Ready", ("", 0.0))[0] == "True"

    def _statuses(self, now: float) -> dict[str, str]:
        on = set(self._node.pressure) | (set() if self._node.troubles(now) else {"Ready"})
        return {kind: "True" if kind in on else "False" for kind in _TURNS}

    def _turns(self, now: float) -> list[Instruction]:
        """Events of conditions that are another than was told; the first time, only those of pressures."""
        told: list[Instruction] = []
        statuses = self._statuses(now)
        for kind, (yes, no) in _TURNS.items():
            first = kind == "Ready" and kind not in self._was and statuses[kind] == "False"
            if self._was.get(kind) != statuses[kind] and not first:
                told.append(self._event(now, yes if statuses[kind] == "True" else no))
        self._was = statuses
        return told

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
            capacity=capacity(facts.amounts),
            allocatable=allocatable(facts.amounts, facts.reserve),
            pressure=node.pressure,
            volumes_attached=known.volumes_attached,
            shutting_down=node.shutting_down,
        )

    def object(self, now: float) -> dict[str, Any]:
        """The v1.Node as it would be created."""
        return self._node.object(now)


def known_of(node: dict[str, Any]) -> Known:
    """What matters of a v1.Node."""
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    return Known(
        uid=metadata["uid"],
        deleting=metadata.get("deletionTimestamp") is not None,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        taints=tuple((each["key"], each.get("value") or "", each["effect"]) for each in spec.get("taints") or ()),
        volumes_attached=tuple(each["name"] for each in status.get("volumesAttached") or ()),
        unschedulable=bool(spec.get("unschedulable")),
        boot_id=(status.get("nodeInfo") or {}).get("bootID") or "",
        conditions={
            each["type"]: (each["status"], epoch_of(each.get("lastTransitionTime") or ""))
            for each in status.get("conditions") or ()
        },
    )


def _without_beats(status: dict[str, Any]) -> dict[str, Any]:
    conditions = [{k: v for k, v in each.items() if k not in _BEATS} for each in status["conditions"]]
    return {**status, "conditions": conditions}
