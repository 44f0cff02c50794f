"""Case TERM-3: what an actor has started ends with it, however either ends. Ray does that on a clean exit alone.

The children are put in from outside (conftest): whatever session, group or environment they chose, none may be left.
"""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.kit.processes import parent_of

from podherd.agent import procs
from podherd.hollow.control import Control

Start = Callable[..., Any]
Say = Callable[[str], None]
KILLS = 50
GONE_WITHIN_S = 15


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


async def calls(agent: Any, pod: str) -> list[str]:
    """Every call that changed the pod in the runtime, in order."""
    async with Control(f"unix://{agent.root / 'hollow.sock'}") as control:
        return [row["method"] for row in await control.journal() if row["pod"] == pod]


def below(pids: list[int]) -> set[int]:
    return procs.tree(pids) - set(pids)


def counted(agent: Any) -> int:
    """The parent, its guard, Ray, the actors and all that these have started."""
    return len(procs.tree([agent.process.pid]) | agent.tree())


@pytest.mark.timeout(900)
async def test_no_child_outlives_its_actor_in_fifty_deaths(start: Start, say: Say, family: int) -> None:
    agent = start(children=True)
    agent.serves("first", 60)
    actors, before, count = agent.actors(), await calls(agent, "first-n1"), counted(agent)
    assert before
    assert len(agent.children()) == family * len(actors)
    kills, begin, slowest = 0, time.monotonic(), 0.0
    while kills < KILLS:
        old = agent.pids()
        victims = [old[name] for name in actors][kills % 2 :: 2]
        left = below(victims)
        assert len(left) == family * len(victims)
        for pid in victims:
            kill(pid)
        kills += len(victims)
        gone = agent.wait("the orphans' end", lambda left=left: all(map(procs.is_dead, left)), GONE_WITHIN_S)
        slowest = max(slowest, gone)
        agent.wait("actors anew", lambda gone=victims: agent.complete() and not set(gone) & set(agent.pids().values()))
    say(f"{kills} kills in {time.monotonic() - begin:.1f} s; orphans gone after {slowest:.2f} s at most")
    agent.wait("as many processes as before", lambda: counted(agent) == count, 20)
    agent.serves("last", 60)
    assert await calls(agent, "first-n1") == before
    agent.stop()
    assert agent.process.returncode == 0
    assert agent.tree() == set()


@pytest.mark.timeout(300)
def test_nothing_is_left_when_the_parent_is_killed(start: Start, say: Say, family: int) -> None:
    agent = start(children=True)
    assert len(agent.tree()) > family * len(agent.actors()) + 8
    kill(agent.process.pid)
    say(f"all gone after {agent.wait('the end of all', lambda: not agent.tree(), GONE_WITHIN_S):.2f} s")


@pytest.mark.timeout(300)
def test_nothing_of_a_life_is_left_when_its_driver_is_killed(start: Start, say: Say) -> None:
    agent = start(children=True)
    old = agent.children()
    kill(parent_of(agent.pids()["raylet"]))
    seconds = agent.wait("the orphans' end", lambda: not old & agent.children(), GONE_WITHIN_S)
    say(f"driver killed: all it left gone after {seconds:.2f} s")
    agent.wait("all of it anew", agent.complete)


@pytest.mark.timeout(300)
def test_a_killed_guard_ends_a_life_and_another_begins(start: Start) -> None:
    agent = start()
    old = agent.pids()
    kill(parent_of(parent_of(old["raylet"])))
    agent.wait("the old life's end", lambda: all(map(procs.is_dead, old.values())), GONE_WITHIN_S)
    agent.wait("another life", lambda: agent.complete() and not set(old.values()) & set(agent.pids().values()))
    assert agent.process.poll() is None
