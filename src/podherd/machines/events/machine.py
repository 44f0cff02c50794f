"""Which events are told to the API server next, and what becomes of those that it does not take. Pure.

One is on its way at a time. Newer counts of an event that still waits replace it, so that what waits is bounded by
the objects told of; beyond WAITING_MOST the oldest is dropped. Nothing here ever makes a pod wait.
"""

from dataclasses import dataclass
from typing import TypeAlias

from podherd.machines.events.correlator import Correlator
from podherd.machines.events.happening import Record, happening_of
from podherd.wire.status import NodeEvent, PodEvent

WAITING_MOST = 1000
"""As client-go's queue of events."""
TRIES_MOST = 12
RETRY_S = 10.0


@dataclass(frozen=True, slots=True)
class NodeIs:
    """The uid of this node's Node object; empty: not known."""

    uid: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The API server took what was on its way."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The Event object that was to be patched is not there any more (they live for an hour)."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The API server does not want it: its namespace ends, or the agent may not."""

    reason: str


@dataclass(frozen=True, slots=True)
class Away:
    """The API server could not be asked."""

    reason: str


@dataclass(frozen=True, slots=True)
class TryAgain:
    """The wait is over."""


Event: TypeAlias = PodEvent | NodeEvent | NodeIs | Sent | Unknown | Refused | Away | TryAgain


@dataclass(frozen=True, slots=True)
class Create:
    """Make the Event object."""

    record: Record


@dataclass(frozen=True, slots=True)
class Patch:
    """Raise the count of an Event object that was made before."""

    record: Record


@dataclass(frozen=True, slots=True)
class Wait:
    """Say TryAgain at this time."""

    until: float


@dataclass(frozen=True, slots=True)
class Lost:
    """So many events were dropped, for the log."""

    count: int
    reason: str


Instruction: TypeAlias = Create | Patch | Wait | Lost


@dataclass(slots=True)
class _Waiting:
    record: Record
    is_new: bool
    tries: int = 0


class EventsMachine:
    """`handle` alone changes it."""

    def __init__(self, node: str) -> None:
        self._node = node
        self._node_uid = ""
        self._correlator = Correlator()
        self._queue: dict[str, _Waiting] = {}
        self._flying: _Waiting | None = None
        self._paused = False
        self._overflow = 0

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """Take the events in order, then say what to send, if nothing is on its way."""
        out: list[Instruction] = []
        for event in events:
            match event:
                case PodEvent() | NodeEvent():
                    self._put(event)
                case NodeIs(uid):
                    self._node_uid = uid
                case TryAgain():
                    self._paused = False
                case _:
                    out += self._answered(now, event)
        return out + self._next()

    def _put(self, event: PodEvent | NodeEvent) -> None:
        correlated = self._correlator.correlate(happening_of(event, self._node, self._node_uid), event.at)
        if correlated is None:
            return
        record, is_new = correlated
        before = self._queue.get(record.name)
        if before is not None:
            before.record = record
            return
        self._queue[record.name] = _Waiting(record, is_new)
        if len(self._queue) > WAITING_MOST:
            del self._queue[next(iter(self._queue))]
            self._overflow += 1

    def _answered(self, now: float, answer: Sent | Unknown | Refused | Away) -> list[Instruction]:
        told, self._flying = self._flying, None
        if told is None:
            return []
        match answer:
            case Unknown() if not told.is_new:
                told.is_new = True
                self._put_back(told)
            case Unknown():
                return [Lost(1, "its namespace is not there")]
            case Refused(reason):
                return [Lost(1, reason)]
            case Away(reason):
                return self._away(now, told, reason)
        return []

    def _away(self, now: float, told: _Waiting, reason: str) -> list[Instruction]:
        told.tries += 1
        self._paused = True
        if told.tries >= TRIES_MOST:
            return [Lost(1, f"tried {TRIES_MOST} times: {reason}"), Wait(now + RETRY_S)]
        self._put_back(told)
        return [Wait(now + RETRY_S)]

    def _put_back(self, told: _Waiting) -> None:
        """To the front again; a count that has come meanwhile is the one to tell."""
        if (newer := self._queue.pop(told.record.name, None)) is not None:
            told.record = newer.record
        self._queue = {told.record.name: told, **self._queue}

    def _next(self) -> list[Instruction]:
        if self._paused or self._flying is not None or not self._queue:
            return []
        out: list[Instruction] = []
        if self._overflow:
            out.append(Lost(self._overflow, f"more than {WAITING_MOST} waited"))
            self._overflow = 0
        told = self._flying = self._queue.pop(next(iter(self._queue)))
        return [*out, Create(told.record) if told.is_new else Patch(told.record)]
