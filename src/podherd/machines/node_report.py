"""When the API server is told the node's status, and of what events (kubelet behaviour, section 7). Pure."""

from dataclasses import dataclass
from typing import Any
from zlib import crc32

from podherd.machines import node_conditions as words
from podherd.machines.node import Node
from podherd.machines.node_instructions import Emit, Instruction, Report
from podherd.machines.node_known import Known, known_of
from podherd.machines.times import NEVER_AT
from podherd.wire import codec
from podherd.wire.status import NodeEvent

START_S = 30.0
"""How long after its start this actor may not know yet whether the node is well; a Node that was Ready stays so."""
_BEATS = ("lastHeartbeatTime",)
_UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class Reporting:
    """When the API server hears of the node: changes every update_s at most, all of it every report_s at least.

    report_s is what nodes keep to that do not change; after a change it is half of it to one and a half, so that
    nodes that changed at one time do not report at one time ever after.
    """

    update_s: float = 10.0
    report_s: float = 300.0


def turned(now: float, node: Node, reason: str) -> Emit:
    """The event that a condition, or whether pods may be scheduled here, has turned."""
    return Emit(NodeEvent(now, "Normal", reason, f"Node {node.facts.node_name} status is now: {reason}"))


class Reporter:
    """Compares the node with what was told. rules: None without an API server."""

    def __init__(self, node: Node, rules: Reporting | None) -> None:
        self._node = node
        self._rules = rules
        self._begun_at: float | None = None
        self._told_at = NEVER_AT
        self._told: dict[str, Any] = {}
        self._taken: Known | None = None
        self._pause_s = 0.0
        self._was: dict[str, str] = {}

    def wake(self, now: float) -> None:
        """The actor has heard something; the first time it has begun."""
        if self._begun_at is None:
            self._begun_at = now

    def begin(self) -> None:
        """Another Node object, or the first: all of the status is due."""
        ready = self._node.known.conditions.get(words.READY)
        self._node.forget_turns()
        self._told, self._told_at, self._taken = {}, NEVER_AT, None
        self._was = {words.READY: ready[0]} if ready else {}

    def failed(self) -> None:
        """The last one was not taken."""
        self._told_at = NEVER_AT

    def taken(self, body: dict[str, Any]) -> None:
        """The last one stands in this v1.Node."""
        self._taken = known_of(body)

    def look_for_doubt(self) -> None:
        """The cluster gave the node up while it could not report: its conditions are Unknown, and turn once more."""
        known = self._node.known.conditions
        doubted = [kind for kind in words.KINDS if known.get(kind, ("", 0.0))[0] == _UNKNOWN]
        if doubted:
            self._told, self._told_at = {}, NEVER_AT
        for kind in doubted:
            self._was[kind] = _UNKNOWN
            self._node.forget_turn(kind)

    def due(self, now: float) -> list[Instruction]:
        """Once the Node object is known: at once when a condition turned, else at the configured pace."""
        rules, node = self._rules, self._node
        if rules is None or not node.known.uid:
            return []
        if self._starts(now):
            node.forget_turns()  # what the own server is shown meanwhile is no turn
            return []
        due_s = now - self._told_at
        if due_s < rules.update_s and not self._is_urgent(now):
            return []
        status, labels = node.status(now), node.lacking_labels()
        plain = _without_beats(status)
        changed = plain != self._told or bool(labels) or self._was_altered()
        if not changed and due_s < self._pause_s:
            return []
        self._told, self._told_at = plain, now
        self._pause_s = rules.report_s * (0.5 + self._spread(now) if changed else 1.0)
        return [*self._events(now), Report(codec.pack(status), labels)]

    def _spread(self, now: float) -> float:
        """From 0 to 1, for each node and time another."""
        return crc32(f"{self._node.facts.node_name} {now}".encode()) / 2**32

    def _is_urgent(self, now: float) -> bool:
        return any(self._was.get(kind) != status for kind, status in self._statuses(now).items()) or self._uses_others()

    def _uses_others(self) -> bool:
        """Whether the API server has not been told of just these volumes in use: pods and controllers wait for that."""
        told = self._told.get("volumesInUse", [*self._node.known.volumes_in_use])
        return bool(told != [*self._node.volumes_in_use()])

    def _was_altered(self) -> bool:
        """Somebody has written what is the node's own: what it took last is not what it has now."""
        return self._taken is not None and self._node.known.own != self._taken.own

    def _starts(self, now: float) -> bool:
        """Runtime, PLEG or API have not answered this actor yet: no reason to take back that the node is Ready."""
        node = self._node
        unheard = node.runtime_ok_at == NEVER_AT and not node.not_ready
        silent = unheard or node.pleg is None or bool(node.csi_trouble)
        young = self._begun_at is not None and now < self._begun_at + START_S
        return silent and young and node.known.conditions.get(words.READY, ("", 0.0))[0] == "True"

    def _statuses(self, now: float) -> dict[str, str]:
        return {kind: "True" if on else "False" for kind, on in self._node.statuses(now).items()}

    def _events(self, now: float) -> list[Instruction]:
        """Of conditions that are another than was told; the first time, only those of pressures."""
        statuses, was = self._statuses(now), self._was
        self._was = statuses
        new = [kind for kind in words.KINDS if was.get(kind) != statuses[kind]]
        return [
            turned(now, self._node, words.turn_reason(kind, statuses[kind] == "True"))
            for kind in new
            if kind in was or kind != words.READY
        ]


def _without_beats(status: dict[str, Any]) -> dict[str, Any]:
    conditions = [{k: v for k, v in each.items() if k not in _BEATS} for each in status["conditions"]]
    return {**status, "conditions": conditions}
