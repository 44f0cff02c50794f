"""The status machine, one per node: local statuses and the API's in, the fewest requests that make them agree out.

At most one request of a pod name is under way, and `most` of all; what is patched is decided when it may leave, so the
newest local status wins. What the API holds is known from the watch and from the answers: nothing is read first.
"""

from heapq import heappop, heappush

from podherd.machines.status.decide import Node, Wait, changes, decide
from podherd.machines.status.events import Deleted, Event, Failed, MirrorMade, Outcome, Patched, Told, Woke
from podherd.machines.status.instructions import CreateMirror, Instruction, PatchStatus, WakeAt
from podherd.machines.status.lane import Flight, Lane, Name, Static
from podherd.machines.status.mirror import hash_of
from podherd.model.keys import SOURCE_API
from podherd.wire import codec
from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.node import NodeFacts
from podherd.wire.status import PodForgotten, StatusChanged

MOST_REQUESTS = 32
_CONFLICT = 409


class StatusMachine:
    """`handle` alone changes it. most: how many requests may be under way."""

    def __init__(self, node_name: str, most: int = MOST_REQUESTS) -> None:
        self._node = Node(node_name)
        self._most = most
        self._lanes: dict[Name, Lane] = {}
        self._ready: dict[Name, None] = {}
        self._under_way = 0
        self._timers: list[tuple[float, Name]] = []
        self._wake_told: float | None = None
        self._unanswered: dict[Name, None] = {}

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """Take the events in order, then begin what may be begun."""
        for event in events:
            self._hear(event, now)
        self._ring(now)
        out = self._begin(now)
        return out + self._alarm()

    def _hear(self, event: Event, now: float) -> None:
        match event:
            case Patched() | Deleted() | MirrorMade() | Failed():
                self._landed(event, now)
            case ApiRoster(uids):
                self._api_listed(frozenset(uids))
            case Roster(uids, complete):
                self._static_listed(frozenset(uids), complete)
            case NodeFacts():
                self._node_is(event.uid, event.deleting)
            case Woke():
                self._wake_told = None
            case StatusChanged() | PodForgotten() | ApiPod() | ApiPodGone() | Desired() | Gone():
                self._told(event)

    def _told(self, event: Told) -> None:
        """Something about one pod."""
        name = (event.namespace, event.name)
        lane = self._lanes.setdefault(name, Lane())
        match event:
            case StatusChanged():
                lane.locals[event.uid] = event
            case PodForgotten():
                lane.locals.pop(event.uid, None)
            case ApiPod():
                if not lane.hold(event):
                    return
            case ApiPodGone():
                lane.bury(event.uid)
            case Desired() if event.source != SOURCE_API:
                lane.static = Static(event.uid, hash_of(codec.unpack(event.body)), event.body)
            case Gone() if lane.static is not None and lane.static.uid == event.uid:
                lane.static = None
        self._touch(name, lane)

    def _touch(self, name: Name, lane: Lane) -> None:
        """Look at this pod before the turn ends, or as soon as there is room."""
        if lane.is_empty:
            del self._lanes[name]
        else:
            self._ready[name] = None

    def _api_listed(self, uids: frozenset[str]) -> None:
        """The server answers, and has these objects; one of our own making that sources do not know yet stays."""
        self._node.listed = True
        for name, lane in list(self._lanes.items()):
            if lane.held is not None and lane.told and lane.held.uid not in uids:
                lane.bury(lane.held.uid)
                self._touch(name, lane)
            elif lane.static is not None and lane.held is None:
                self._touch(name, lane)
        self._server_answers()

    def _static_listed(self, uids: frozenset[str], complete: bool) -> None:
        self._node.complete = complete
        if not complete:
            return
        for name, lane in list(self._lanes.items()):
            if lane.static is not None and lane.static.uid not in uids:
                lane.static = None
            if lane.static is None:
                self._touch(name, lane)

    def _node_is(self, uid: str, deleting: bool) -> None:
        if (uid, deleting) == (self._node.uid, self._node.deleting):
            return
        self._node.uid, self._node.deleting = uid, deleting
        for name, lane in self._lanes.items():
            if lane.static is not None and lane.held is None:
                self._ready[name] = None

    def _landed(self, outcome: Outcome, now: float) -> None:
        """A request has ended, one way or the other."""
        name = (outcome.namespace, outcome.name)
        lane = self._lanes.get(name)
        if lane is None or lane.flight is None:
            return
        flight, lane.flight = lane.flight, None
        self._under_way -= 1
        if isinstance(outcome, Failed):
            self._failed(name, lane, flight, outcome, now)
        else:
            lane.failures.forget()
            self._unanswered.pop(name, None)
            self._done(lane, flight, outcome, now)
            self._server_answers()
        self._touch(name, lane)

    def _done(self, lane: Lane, flight: Flight, outcome: Patched | Deleted | MirrorMade, now: float) -> None:
        match outcome:
            case Patched():
                if lane.patched(outcome) and flight.local is not None and lane.held is not None:
                    lane.repeats.left(changes(lane.held, flight.local, now))
            case Deleted(uid=uid):
                lane.bury(uid)
            case MirrorMade() if isinstance(flight.request, CreateMirror):
                lane.made(outcome, hash_of(flight.request.body))

    def _failed(self, name: Name, lane: Lane, flight: Flight, failed: Failed, now: float) -> None:
        request = flight.request
        if not isinstance(request, CreateMirror) and _is_gone(failed):
            lane.bury(request.uid)
            return
        if isinstance(request, PatchStatus):
            lane.repeats.patch = None
            if failed.status == _CONFLICT and _is_outdated(request, lane):
                return
        unanswered = failed.status == 0
        lane.failures.add("/".join(name), now, failed.retry_after_s, unanswered)
        lane.failures.conflict = failed.status == _CONFLICT
        if unanswered:
            self._unanswered[name] = None

    def _server_answers(self) -> None:
        """Whoever waits because it did not, waits no longer."""
        for name in self._unanswered:
            if (lane := self._lanes.get(name)) is not None and lane.failures.unanswered:
                lane.failures.until = 0.0
                self._ready[name] = None
        self._unanswered.clear()

    def _begin(self, now: float) -> list[Instruction]:
        """Requests for those who have waited longest."""
        out: list[Instruction] = []
        while self._ready and self._under_way < self._most:
            name = next(iter(self._ready))
            del self._ready[name]
            lane = self._lanes.get(name)
            match decide(name, lane, self._node, now) if lane is not None else None:
                case Flight() as flight if lane is not None:
                    self._fly(lane, flight, now)
                    out.append(flight.request)
                case Wait(until) if lane is not None:
                    self._wait(name, lane, until)
        return out

    def _fly(self, lane: Lane, flight: Flight, now: float) -> None:
        lane.flight = flight
        self._under_way += 1
        if isinstance(flight.request, PatchStatus):
            lane.repeats.made(flight.request.patch["status"], now)

    def _wait(self, name: Name, lane: Lane, until: float) -> None:
        if lane.wake_at is None or until < lane.wake_at:
            lane.wake_at = until
            heappush(self._timers, (until, name))

    def _ring(self, now: float) -> None:
        while self._timers and self._timers[0][0] <= now:
            at, name = heappop(self._timers)
            lane = self._lanes.get(name)
            if lane is not None and lane.wake_at == at:
                lane.wake_at = None
                self._ready[name] = None

    def _alarm(self) -> list[Instruction]:
        if not self._timers or (self._wake_told is not None and self._wake_told <= self._timers[0][0]):
            return []
        self._wake_told = self._timers[0][0]
        return [WakeAt(self._wake_told)]


def _is_outdated(request: PatchStatus, lane: Lane) -> bool:
    """Whether the object is known to be another since the patch was made: the next one can be made at once."""
    version = request.patch["metadata"].get("resourceVersion", "")
    return bool(version and lane.held is not None and lane.held.resource_version != version)


def _is_gone(failed: Failed) -> bool:
    """Whether there is no object of that uid: none of the name, or another one.

    A delete's precondition is a conflict; a patch of another uid is invalid, as the API server sees it.
    """
    if failed.status == _CONFLICT:
        return "uid in precondition" in failed.reason.lower()
    return failed.status == 404 or (failed.status == 422 and "metadata.uid" in failed.reason)
