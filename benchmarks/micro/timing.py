"""Timing one function against its reference in CPU time of the thread: other processes on the machine do not count."""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of one function over `runs` runs, in milliseconds of the thread's CPU; `wall_ms` is by the clock."""

    median_ms: float
    min_ms: float
    wall_ms: float
    runs: int


@dataclass(frozen=True, slots=True)
class Result:
    """A function beside its reference: what one table row and one JSON entry tell.

    ratio: the reference's least time over the function's, so more is better. A limit that is None is not judged.
    """

    name: str
    own: Sample
    reference: str
    reference_min_ms: float
    limit_ms: float | None = None
    least_ratio: float | None = None

    @property
    def ratio(self) -> float:
        """How many times the reference takes as long."""
        return self.reference_min_ms / self.own.min_ms

    @property
    def passed(self) -> bool:
        """The median is within the limit and the ratio is reached."""
        in_time = self.limit_ms is None or self.own.median_ms <= self.limit_ms
        return in_time and (self.least_ratio is None or self.ratio >= self.least_ratio)


def sample(run: Callable[[int], object], runs: int, warm_ups: int = 2) -> Sample:
    """Call `run(0)`, `run(1)`… and time all but the first `warm_ups`; garbage is collected before, not meanwhile."""
    for turn in range(warm_ups):
        run(turn)
    cpu: list[int] = []
    wall: list[int] = []
    gc.collect()
    gc.disable()
    try:
        for turn in range(warm_ups, warm_ups + runs):
            clock, begin = time.perf_counter_ns(), time.thread_time_ns()
            run(turn)
            cpu.append(time.thread_time_ns() - begin)
            wall.append(time.perf_counter_ns() - clock)
    finally:
        gc.enable()
    return Sample(median(cpu) / 1e6, min(cpu) / 1e6, median(wall) / 1e6, runs)
