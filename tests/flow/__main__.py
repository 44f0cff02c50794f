"""`python -m tests.flow SEED`: the story of one schedule; `python -m tests.flow FIRST LAST`: which seeds fail."""

import sys
import time
from collections import Counter

from tests.flow.schedule import failure_of, kind_of, run, schedule_of, shrunk


def show(seed: int) -> None:
    """A failing schedule is cut short first."""
    schedule = schedule_of(seed)
    failure = failure_of(seed, schedule)
    if failure:
        schedule = shrunk(seed, schedule)
    print("\n".join(map(repr, schedule)))  # noqa: T201
    try:
        world = run(seed, schedule, tracing=True)
    except AssertionError as error:
        world = error.world  # type: ignore[attr-defined]
        failure = f"{error} {error.__cause__ or ''!r}"
    print("\n".join(world.trace))  # noqa: T201
    print(f"seed {seed}: {failure or 'all laws hold'}")  # noqa: T201


def explore(first: int, last: int) -> None:
    """One line for each seed that fails, then how many of which kind."""
    began, found = time.process_time(), Counter[str]()
    for seed in range(first, last):
        if failure := failure_of(seed, schedule_of(seed)):
            found[kind_of(failure)] += 1
            print(seed, failure, flush=True)  # noqa: T201
    took_s = time.process_time() - began
    print(f"{last - first} seeds, {took_s:.1f} s; {found}")  # noqa: T201


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    if len(numbers) == 1:
        show(numbers[0])
    else:
        explore(*numbers)
