"""Everything that happens later, in one heap: no task or thread per container. Times in ns of the clock handed in."""

from collections.abc import Callable
from heapq import heappop, heappush

ClockNs = Callable[[], int]
"""Wall time in ns since the epoch, such as `time.time_ns`."""
_S = 1_000_000_000


class Timer:
    """One thing to do once `when_ns` has come."""

    __slots__ = ("call", "order", "when_ns")

    def __init__(self, when_ns: int, order: int, call: Callable[[], None]) -> None:
        self.when_ns = when_ns
        self.order = order
        self.call: Callable[[], None] | None = call

    def __lt__(self, other: "Timer") -> bool:
        return (self.when_ns, self.order) < (other.when_ns, other.order)

    def cancel(self) -> None:
        """Never call; harmless when the call is over."""
        self.call = None


class Timers:
    """The heap. `wake` is told the time of the earliest timer whenever that time came closer; its owner then calls
    `run_due` at that time."""

    def __init__(self, clock: ClockNs, wake: Callable[[int], None] = lambda _when_ns: None) -> None:
        self.clock = clock
        self.wake = wake
        self._heap: list[Timer] = []
        self._order = 0

    def after(self, delay_s: float, call: Callable[[], None]) -> Timer:
        """Call `call` once, `delay_s` from now or later; equal times keep their order."""
        self._order += 1
        timer = Timer(self.clock() + int(delay_s * _S), self._order, call)
        heappush(self._heap, timer)
        if self._heap[0] is timer:
            self.wake(timer.when_ns)
        return timer

    def run_due(self) -> None:
        """Make every call whose time has come, then have the owner woken for the next."""
        now_ns = self.clock()
        while self._heap and self._heap[0].when_ns <= now_ns:
            call = heappop(self._heap).call
            if call is not None:
                call()
        while self._heap and self._heap[0].call is None:
            heappop(self._heap)
        if self._heap:
            self.wake(self._heap[0].when_ns)
