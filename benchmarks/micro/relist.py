"""The native relist against its plain-Python fallback: `python -m podherd.benchmarks.micro.relist`.

10,000 pods of one container: a ListPodSandbox and a ListContainers reply of 10,000 entries each go in. The order of
the entries and of their label maps is another one in each reply, as runtimes list from maps.
"""

import sys
from collections.abc import Callable
from random import Random
from typing import Any

from podherd.benchmarks.micro import replies, report
from podherd.benchmarks.micro.timing import Result, sample
from podherd.native.fallback import relist as fallback
from podherd.native.relist import Table

PODS = 10_000
SHUFFLES = 6
LIMIT_MS = 3.0
LIMIT_CHANGED_MS = 4.0
LEAST_RATIO = 30.0
RUNS, FALLBACK_RUNS = 60, 4
CHANGED_EVERY = 100

Pair = tuple[bytes, bytes]
_NAME = f"relist {PODS:,} containers, {PODS:,} sandboxes"


def pairs(changed_every: int = 0, *, full: bool = False) -> list[Pair]:
    """Shuffled replies; in each second one every `changed_every`-th container has exited."""
    rng = Random(1)
    boxes = [replies.sandbox(index) for index in range(PODS)]

    def make(every: int) -> list[replies.Entry]:
        return replies.changing(PODS, every, lambda index, exited: replies.container(index, exited=exited, full=full))

    turns = make(0), make(changed_every)
    return [(replies.shuffled(boxes, rng), replies.shuffled(turns[turn % 2], rng)) for turn in range(SHUFFLES)]


def run(kind: Callable[[], Any], shuffles: list[Pair], changes: int) -> Callable[[int], None]:
    """One relist a call, of one table that lives through all; the count of changes is checked."""
    table = kind()

    def relist(turn: int) -> None:
        found = table.relist(*shuffles[turn % len(shuffles)])
        if turn and len(found) != changes:
            raise AssertionError(f"{len(found)} changes, not {changes}")

    return relist


def first(kind: Callable[[], Any], shuffles: list[Pair]) -> Callable[[int], None]:
    """The first relist of a new table: everything is new."""

    def relist(turn: int) -> None:
        kind().relist(*shuffles[turn % len(shuffles)])

    return relist


def compare(name: str, make: Callable[[Callable[[], Any]], Callable[[int], None]], **limits: float) -> Result:
    """The compiled table beside the fallback."""
    own = sample(make(Table), RUNS)
    reference = sample(make(fallback.Table), FALLBACK_RUNS)
    return Result(f"{_NAME}: {name}", own, "plain-Python fallback", reference.min_ms, **limits)


def objects() -> int:
    """Objects that a relist without changes leaves, its empty list apart: none, or AssertionError."""
    table, shuffles = Table(), pairs()[:2]
    for replied in (*shuffles, *shuffles):
        table.relist(*replied)
    before = sys.getallocatedblocks()
    found = table.relist(*shuffles[0])
    made = sys.getallocatedblocks() - before
    if found or made > 2:
        raise AssertionError(f"{made} objects for {PODS * 2} unchanged entries")
    return made


def results() -> list[Result]:
    """Every row; raises AssertionError when an unchanged entry makes an object."""
    objects()
    same, some, full = pairs(), pairs(CHANGED_EVERY), pairs(full=True)
    return [
        compare("nothing changed", lambda k: run(k, same, 0), limit_ms=LIMIT_MS, least_ratio=LEAST_RATIO),
        compare(
            "1 % of the containers changed",
            lambda k: run(k, some, PODS // CHANGED_EVERY),
            limit_ms=LIMIT_CHANGED_MS,
            least_ratio=LEAST_RATIO,
        ),
        compare("nothing changed, full-size entries", lambda k: run(k, full, 0)),
        compare("all of it new", lambda k: first(k, same)),
    ]


if __name__ == "__main__":
    sys.exit(report.main("relist", results))
