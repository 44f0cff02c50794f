"""All machines on a synchronous bus in virtual time: random schedules by seed, and every law holds in each of them.

`FLOW_SEEDS=20000` explores more; `python -m tests.flow SEED` tells the story of one.
"""

import os

import pytest
from tests.flow.schedule import failure_of, report, run, schedule_of

SEEDS = int(os.environ.get("FLOW_SEEDS", "600"))
CHUNK = 100


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_every_law_holds_under_any_schedule(first: int) -> None:
    for seed in range(first, min(first + CHUNK, SEEDS)):
        if failure_of(seed, schedule_of(seed)):
            pytest.fail(report(seed), pytrace=False)


def test_a_seed_makes_the_same_world_every_time() -> None:
    traces = [run(7, schedule_of(7), tracing=True).trace for _ in range(2)]
    assert traces[0] == traces[1]


def test_a_node_at_rest_stays_as_it_is() -> None:
    for seed in range(20):
        world = run(seed, schedule_of(seed))
        changes, rows = world.runtime.changes, world.observer.pods.rows()
        world.timeline.run_until(world.timeline.now + 600.0)
        assert (world.runtime.changes, world.observer.pods.rows()) == (changes, rows), seed


def test_schedules_do_everything() -> None:
    """A law that is never tried says nothing."""
    done: set[str] = set()
    for seed in range(60):
        done |= run(seed, schedule_of(seed)).laws.tried
    begun = {"start", "restart", "grace", "hook", "turn", "order", "box", "clean up", "cut off", "twice"}
    missing = begun.union({"release", "over", "finished", "evict"}) - done
    assert not missing
