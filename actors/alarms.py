"""Many times to be woken at, one timer: the loop holds a single callback, for the earliest of them."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush

Wake = Callable[[list[str]], None]


class Alarms:
    """A time by key; setting a key again replaces its time. `wake` gets every key that is due, once.

    Replaced and dropped entries stay in the heap until their time comes, or until they are the greater part of it.
    """

    def __init__(self, clock: Callable[[], float], wake: Wake) -> None:
        self._clock = clock
        self._wake = wake
        self._at: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0

    def __len__(self) -> int:
        return len(self._at)

    def set(self, key: str, at: float) -> None:
        """Wake for `key` once the clock reads `at`."""
        if self._at.get(key) == at:
            return
        self._at[key] = at
        heappush(self._heap, (at, key))
        if len(self._heap) > 64 + 2 * len(self._at):
            self._heap = sorted((when, name) for name, when in self._at.items())
        if self._timer is None or at < self._timer_at:
            self._arm()

    def drop(self, key: str) -> None:
        """Forget the key."""
        self._at.pop(key, None)

    def close(self) -> None:
        """Wake no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._at.clear()
        self._heap.clear()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._heap:
            self._timer_at = self._heap[0][0]
            delay_s = max(0.0, self._timer_at - self._clock())
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._clock()
        due: dict[str, None] = {}
        while self._heap and self._heap[0][0] <= now:
            at, key = heappop(self._heap)
            if self._at.get(key) == at:
                del self._at[key]
                due[key] = None
        self._arm()
        if due:
            self._wake(list(due))
