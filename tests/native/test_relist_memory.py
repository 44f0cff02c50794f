"""What the compiled table costs in objects and memory, and that running out of it changes nothing."""

import gc
import sys
import tracemalloc
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from podherd.benchmarks.micro import replies
from podherd.native.relist import Table

Pair = tuple[bytes, bytes]


@pytest.fixture
def quiet() -> Iterator[None]:
    """No collection of garbage in the middle of a count."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def pair(pods: range, seed: int, exited_every: int = 0) -> Pair:
    rng = Random(seed)
    exited = {index for index in pods if exited_every and index % exited_every == 0}
    return (
        replies.shuffled((replies.sandbox(index) for index in pods), rng),
        replies.shuffled((replies.container(index, exited=index in exited) for index in pods), rng),
    )


def objects_of_a_relist(pods: int) -> tuple[int, int]:
    """Blocks left and bytes used at the height of a relist on which nothing changed but every order."""
    table = Table()
    shuffles = [pair(range(pods), seed) for seed in range(3)]
    for replied in shuffles:
        table.relist(*replied)
    before = sys.getallocatedblocks()
    changes = table.relist(*shuffles[0])
    left = sys.getallocatedblocks() - before
    assert changes == []
    tracemalloc.start()
    try:
        table.relist(*shuffles[1])
        start, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        table.relist(*shuffles[2])
        height = tracemalloc.get_traced_memory()[1] - start
    finally:
        tracemalloc.stop()
    return left, height


@pytest.mark.usefixtures("quiet")
def test_an_unchanged_entry_makes_no_object_not_even_a_passing_one() -> None:
    few, many = objects_of_a_relist(50), objects_of_a_relist(3000)
    assert few == many
    assert few[0] <= 2
    assert few[1] <= 256


@pytest.mark.usefixtures("quiet")
def test_a_changed_entry_does_make_objects_so_the_counts_see_them() -> None:
    table = Table()
    table.relist(*pair(range(200), 1))
    other = pair(range(200), 2, exited_every=2)
    before = sys.getallocatedblocks()
    changes = table.relist(*other)
    assert len(changes) == 100
    assert sys.getallocatedblocks() - before >= 200


@pytest.mark.usefixtures("quiet")
def test_memory_is_flat_over_many_relists_with_everything_changing() -> None:
    table = Table()
    rounds = [pair(range(start, start + 300), start, exited_every=3) for start in (0, 150, 1000)]
    broken = rounds[0][0], rounds[0][1][:-5]

    def churn(times: int) -> None:
        for _ in range(times):
            for replied in rounds:
                table.relist(*replied)
            with pytest.raises(Exception, match="ListContainers"):
                table.relist(*broken)
            table.forget(table.pods()[0][0])

    tracemalloc.start()
    try:
        churn(3)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        churn(60)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 4096


@pytest.mark.usefixtures("quiet")
def test_clear_and_the_tables_end_give_all_memory_back() -> None:
    replied = pair(range(500), 1)
    table = Table()
    empty = sys.getallocatedblocks()
    table.relist(*replied)
    assert sys.getallocatedblocks() - empty > 1000
    table.clear()
    assert abs(sys.getallocatedblocks() - empty) <= 4
    table.relist(*replied)
    del table
    assert sys.getallocatedblocks() - empty <= 4


def shape(table: Table) -> Any:
    return table.pods(), table.counts(), [table.states(uid) for uid, _, _ in table.pods()]


def test_a_relist_that_runs_out_of_memory_at_any_point_changes_nothing() -> None:
    testcapi = pytest.importorskip("_testcapi", reason="this Python comes without its own test module")
    first, second = pair(range(10), 1), pair(range(5, 18), 2, exited_every=2)
    table = Table()
    table.relist(*first)
    before = shape(table)
    failures = 0
    while True:
        testcapi.set_nomemory(failures, failures + 1)
        try:
            changes = table.relist(*second)
        except MemoryError:
            testcapi.remove_mem_hooks()
            failures += 1
            assert shape(table) == before
            continue
        testcapi.remove_mem_hooks()
        break
    assert failures > 50
    fresh = Table()
    fresh.relist(*first)
    assert changes == fresh.relist(*second)
    assert shape(table) == shape(fresh)
