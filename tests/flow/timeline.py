"""Virtual time: a heap of calls to come, and coroutines that wait in it. No thread, no loop, no real clock."""

import types
from collections.abc import Callable, Coroutine, Generator
from heapq import heappop, heappush
from typing import Any

Call = Callable[[], None]


class Cancelled(Exception):  # noqa: N818
    """Thrown into a task that is to stop soon."""


class Timer:
    """One call to come; `cancel` takes it back."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call: Call | None = call

    def cancel(self) -> None:
        self.call = None


class Timeline:
    """The one clock of a world, in seconds since its start; it is never set back."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Timer]] = []
        self._serial = 0

    def after(self, delay_s: float, call: Call) -> Timer:
        timer = Timer(call)
        self._serial += 1
        heappush(self._heap, (self.now + max(0.0, delay_s), self._serial, timer))
        return timer

    def run_until(self, end: float) -> None:
        """Do everything that is due by `end`, in order."""
        heap = self._heap
        while heap and heap[0][0] <= end:
            self.now, _, timer = heappop(heap)
            if timer.call is not None:
                timer.call()
        self.now = end


class Latch:
    """Something that happens once; who waits for it goes on in a turn of its own."""

    __slots__ = ("_timeline", "_waiting", "is_set")

    def __init__(self, timeline: Timeline) -> None:
        self.is_set = False
        self._timeline = timeline
        self._waiting: list[Call] = []

    def set(self) -> None:
        self.is_set = True
        for call in self._waiting:
            self._timeline.after(0.0, call)
        self._waiting = []

    def tell(self, call: Call) -> None:
        if self.is_set:
            self._timeline.after(0.0, call)
        else:
            self._waiting.append(call)


@types.coroutine
def wait(latch: Latch | None, seconds: float | None) -> Generator[tuple[Latch | None, float | None], bool, bool]:
    """Until the latch is set (True) or the seconds are over (False)."""
    return (yield latch, seconds)


class Task:
    """A coroutine that waits by `wait` alone. result: what it returned, once `ended` is set."""

    def __init__(self, timeline: Timeline, work: Coroutine[Any, Any, Any]) -> None:
        self.ended = Latch(timeline)
        self.result: Any = None
        self._timeline = timeline
        self._work = work
        self._turn = 0
        self._step(None, None)

    def throw(self, error: Exception) -> None:
        """Let the wait that it is in end with this error; nothing for one that ended."""
        if not self.ended.is_set:
            self._step(None, error)

    def close(self) -> None:
        """Cut it off where it stands, as the death of its process does."""
        if not self.ended.is_set:
            self._turn += 1
            self._work.close()
            self.ended.set()

    def _step(self, value: bool | None, error: Exception | None) -> None:
        self._turn += 1
        turn = self._turn
        try:
            latch, seconds = self._work.throw(error) if error is not None else self._work.send(value)
        except StopIteration as stop:
            self.result = stop.value
            self.ended.set()
            return
        if latch is not None:
            latch.tell(lambda: self._resume(turn, True))
        if seconds is not None:
            self._timeline.after(seconds, lambda: self._resume(turn, False))

    def _resume(self, turn: int, value: bool) -> None:
        if turn == self._turn and not self.ended.is_set:
            self._step(value, None)


class Life:
    """One incarnation of an actor: what it set going dies with it."""

    def __init__(self, timeline: Timeline) -> None:
        self.alive = True
        self._timeline = timeline
        self._tasks: dict[int, Task] = {}

    def after(self, delay_s: float, call: Call) -> Timer:
        return self._timeline.after(delay_s, lambda: call() if self.alive else None)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> Task:
        task = Task(self._timeline, work)
        if not task.ended.is_set:
            self._tasks[id(task)] = task
            task.ended.tell(lambda: self._tasks.pop(id(task), None) and None)
        return task

    @property
    def busy(self) -> bool:
        return any(not task.ended.is_set for task in self._tasks.values())

    def end(self) -> None:
        self.alive = False
        for task in list(self._tasks.values()):
            task.close()
        self._tasks = {}
