"""Bounded lanes: starts wait for a place, hung ones give theirs up, stops have a lane of their own."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from podherd.machines.pod.events import Synced
from podherd.machines.pod.instructions import KillContainer, Plan, Sync
from podherd.steps.lanes import Lanes, Width

START = Plan(make_sandbox=0)
STOP = Plan(kill=(KillContainer("c", "web", 2, "k"),))
LONG = Width(2, 3600.0)


class Yard:
    """Lanes on the bench's scripted runtime; `ended` in order."""

    def __init__(self, bench: Any, make_pod: Any, starts: Width = LONG, endings: Width = LONG) -> None:
        self.bench, self._make_pod = bench, make_pod
        self.ended: list[Synced] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self.lanes = Lanes(bench.tools, self._spawn, self._note, starts, endings)

    def _spawn(self, work: Any, what: str) -> object:
        task = asyncio.create_task(work, name=what)
        self._tasks.add(task)
        return task

    def _note(self, synced: Synced) -> None:
        self.ended.append(synced)
        self._changed.set()

    def put(self, uid: str, plan: Plan, plan_id: int = 1) -> None:
        self.lanes.put(Sync(uid, "shop", uid, plan_id, self._make_pod(uid=uid, name=uid), plan))

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def until_calls(self, method: str, count: int) -> None:
        await self.bench.until(lambda: self.bench.cri.methods().count(method) >= count)

    def uids(self) -> list[str]:
        return [synced.uid for synced in self.ended]


@pytest.fixture
def yard(bench: Any, make_pod: Any) -> Yard:
    return Yard(bench, make_pod)


async def test_starts_are_bounded_and_first_come_first_served(yard: Yard) -> None:
    gate = yard.bench.cri.gate["run_sandbox"] = asyncio.Event()
    for uid in "abcd":
        yard.put(uid, START)
    await yard.until_calls("run_sandbox", 2)
    yard.put("z", STOP)
    await yard.until(lambda: yard.uids() == ["z"])
    assert yard.bench.cri.methods().count("run_sandbox") == 2
    gate.set()
    await yard.until(lambda: len(yard.ended) == 5)
    assert yard.uids() == list("zabcd")
    yard.put("e", START)
    await yard.until(lambda: yard.uids()[-1] == "e")


async def test_hung_starts_hold_up_neither_stops_nor_for_long_other_starts(bench: Any, make_pod: Any) -> None:
    yard = Yard(bench, make_pod, starts=Width(2, 0.02))
    bench.cri.gate["run_sandbox"] = asyncio.Event()
    for uid in "abc":
        yard.put(uid, START)
    yard.put("z", STOP)
    await yard.until(lambda: yard.uids() == ["z"])
    await yard.until_calls("run_sandbox", 3)
    assert yard.uids() == ["z"]
    bench.cri.gate["run_sandbox"].set()
    await yard.until(lambda: len(yard.ended) == 4)


async def test_a_place_is_given_back_once(bench: Any, make_pod: Any) -> None:
    yard = Yard(bench, make_pod, starts=Width(1, 0.02))
    first = bench.cri.gate["run_sandbox"] = asyncio.Event()
    yard.put("a", START)
    yard.put("b", START)
    await yard.until_calls("run_sandbox", 2)
    first.set()
    await yard.until(lambda: len(yard.ended) == 2)
    bench.cri.gate["run_sandbox"] = asyncio.Event()
    yard.lanes._starts._width = Width(1, 3600.0)
    for uid in "cd":
        yard.put(uid, START)
    await yard.until_calls("run_sandbox", 3)
    yard.put("z", STOP)
    await yard.until(lambda: yard.uids()[-1] == "z")
    assert yard.bench.cri.methods().count("run_sandbox") == 3
    bench.cri.gate["run_sandbox"].set()
    await yard.until(lambda: len(yard.ended) == 5)


async def test_a_cancel_of_one_that_waits_is_answered_at_once_and_only_for_its_plan(yard: Yard) -> None:
    gate = yard.bench.cri.gate["run_sandbox"] = asyncio.Event()
    for uid in "abc":
        yard.put(uid, START, plan_id=5)
    yard.lanes.cancel("c", 4)
    assert yard.ended == []
    yard.lanes.cancel("c", 5)
    (synced,) = yard.ended
    assert (synced.uid, synced.plan_id, synced.did, synced.cancelled) == ("c", 5, False, True)
    yard.lanes.cancel("c", 5)
    yard.lanes.cancel("unknown", 1)
    gate.set()
    await yard.until(lambda: len(yard.ended) == 3)
    assert yard.bench.cri.methods().count("run_sandbox") == 2


async def test_a_cancel_of_one_that_runs_is_answered_once(yard: Yard) -> None:
    gate = yard.bench.cri.gate["run_sandbox"] = asyncio.Event()
    yard.put("a", START, plan_id=5)
    yard.lanes.cancel("a", 4)
    await yard.until_calls("run_sandbox", 1)
    yard.lanes.cancel("a", 5)
    yard.lanes.cancel("a", 5)
    gate.set()
    await yard.until(lambda: bool(yard.ended))
    assert [(synced.plan_id, synced.cancelled) for synced in yard.ended] == [(5, True)]
