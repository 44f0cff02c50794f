"""When to list everything: at the usual pace, and earlier when many pods wait for a list."""

from collections import deque

from podherd.machines.pleg.rules import Rules
from podherd.machines.times import NEVER_AT

RUSH_S = 1.0
"""The window in which demands are counted."""


class Relists:
    """done_at: when the last successful one began; took_s: how long it took. under_way: when that in flight began."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._demands: deque[float] = deque()
        self._failed = False
        self.done_at = NEVER_AT
        self.took_s = 0.0
        self.under_way: float | None = None
        self.next_at = NEVER_AT

    def demanded(self, now: float) -> None:
        """Somebody wants a list newer than the last."""
        self._demands.append(now)

    def is_rush(self, now: float) -> bool:
        """Whether one list for all is cheaper than one for each that waits."""
        while self._demands and self._demands[0] <= now - RUSH_S:
            self._demands.popleft()
        return len(self._demands) > self._rules.few

    def hurry(self) -> None:
        """Pods wait: let the next one come as soon as its cost allows; one after a failure keeps its pace."""
        if self._failed:
            return
        pause_s = max(self._rules.early_s, self._rules.early_cost * self.took_s)
        self.next_at = min(self.next_at, self.done_at + pause_s)

    def clock_set_back(self, now: float) -> None:
        """The next one is due now, and nothing that was listed before says what is there at any time of this clock."""
        self.done_at = NEVER_AT
        self.next_at = now
        self._demands.clear()

    def begin(self, now: float) -> bool:
        """Whether a relist is due now; then it is under way."""
        if self.under_way is not None or now < self.next_at:
            return False
        self.under_way = now
        return True

    def end(self, now: float, done_at: float | None) -> None:
        """It is over; done_at: when the successful one began."""
        self.under_way = None
        self.next_at = now + self._rules.relist_s
        self._failed = done_at is None
        if done_at is not None:
            self.done_at, self.took_s = done_at, now - done_at
