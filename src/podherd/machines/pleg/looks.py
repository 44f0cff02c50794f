"""Which pods are being looked at, and which wait for their turn: bounded, in order, one look a pod."""

from collections.abc import Iterator

from podherd.machines.pleg.lane import Lane
from podherd.machines.pleg.rules import Rules


class Looks:
    """The queue and the flights. A look that takes long no longer counts, so that hung pods do not hold the others."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._queue: dict[str, Lane] = {}
        self._flying: dict[str, Lane] = {}

    def put(self, lane: Lane) -> None:
        """Let the pod be inspected when its turn comes."""
        self._queue.setdefault(lane.uid, lane)

    def drop(self, lane: Lane) -> None:
        """The pod is forgotten."""
        self._queue.pop(lane.uid, None)

    def begin(self, lane: Lane, now: float) -> None:
        """A look at the pod begins, queued or not."""
        lane.looking_since = now
        self._queue.pop(lane.uid, None)
        self._flying[lane.uid] = lane

    def end(self, uid: str) -> Lane | None:
        """The pod whose look ended; None for an answer that nobody waits for."""
        if (lane := self._flying.pop(uid, None)) is not None:
            lane.looking_since = None
        return lane

    def turns(self, now: float) -> Iterator[Lane]:
        """The pods whose turn it is; the caller begins each look before it takes the next."""
        room = min(self._rules.parallel + len(self.slow(now)), self._rules.most)
        while self._queue and len(self._flying) < room:
            yield next(iter(self._queue.values()))

    def slow(self, now: float) -> list[Lane]:
        """Those that have been looked at for long."""
        limit_s = self._rules.slow_s
        return [lane for lane in self._flying.values() if now - (lane.looking_since or now) >= limit_s]

    def slow_at(self, now: float) -> float | None:
        """When the next look will have taken long."""
        limit_s = self._rules.slow_s
        times = [at for lane in self._flying.values() if (at := (lane.looking_since or now) + limit_s) > now]
        return min(times, default=None)
