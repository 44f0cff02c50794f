"""SIGKILL of each part: service returns, no container restarts, nothing is left behind. Times are printed only."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
from tests.kit.processes import command_line, parent_of

from podherd.agent import procs

Start = Callable[..., Any]
Say = Callable[[str], None]


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


@pytest.mark.timeout(400)
def test_the_service_returns_after_the_death_of_each_actor(start: Start, say: Say) -> None:
    agent = start()
    say(f"first pod {agent.serves('first', 60):.2f} s")
    before = agent.containers()
    for name in agent.actors():
        pid = agent.pids()[name]
        kill(pid)
        seconds = agent.serves(f"after-{name.replace('_', '-')}", 60)
        anew = agent.wait(f"{name} anew", lambda name=name, pid=pid: agent.pids()[name] != pid)
        say(f"{name} killed: the next pod runs after {seconds:.2f} s, the actor after {max(seconds, anew):.2f} s")
    agent.wait("all pods", lambda: len(agent.containers()) == 1 + len(agent.actors()))
    assert {name: agent.containers()[name] for name in before} == before
    assert all(restarts == 0 for _, restarts in agent.containers().values())


@pytest.mark.timeout(300)
def test_an_actor_that_is_stuck_is_killed_and_replaced(start: Start, say: Say) -> None:
    agent = start()
    pid = agent.pids()["node"]
    os.kill(pid, signal.SIGSTOP)
    seconds = agent.wait("the actor anew", lambda: agent.pids()["node"] != pid and agent.complete(), 90)
    say(f"stuck actor replaced after {seconds:.1f} s")
    assert procs.is_dead(pid)


@pytest.mark.timeout(400)
def test_ray_is_built_again_after_the_death_of_raylet_gcs_and_driver(start: Start, say: Say) -> None:
    agent = start()
    agent.serves("first", 60)
    before = agent.containers()
    for name in ("raylet", "gcs_server", "driver"):
        old = agent.pids()
        kill(old[name] if name != "driver" else parent_of(old["raylet"]))
        agent.wait("the old processes' end", lambda old=old: all(procs.is_dead(pid) for pid in old.values()), 15)
        seconds = agent.serves(f"after-{name.replace('_', '-')}", 90)
        say(f"{name} killed: the next pod runs after {seconds:.2f} s")
        assert not set(old.values()) & set(agent.pids().values())
        agent.wait("all actors", agent.complete)
    assert {name: agent.containers()[name] for name in before} == before
    assert agent.process.poll() is None


@pytest.mark.timeout(300)
def test_the_agent_stops_on_a_signal_and_leaves_nothing(start: Start, say: Say) -> None:
    agent = start(children=True)
    agent.process.send_signal(signal.SIGINT)
    say(f"stopped after {agent.wait('the stop', agent.ended, 20):.2f} s")
    assert agent.process.returncode == 0
    assert agent.tree() == set()
    assert "stopped; the pretend containers are gone" in agent.out.read_text()


@pytest.mark.timeout(300)
def test_drain_on_exit_stops_the_pods_first(start: Start, say: Say) -> None:
    agent = start(drain=True)
    agent.serves("first", 60)
    agent.process.send_signal(signal.SIGTERM)
    say(f"drained after {agent.wait('the drain', agent.ended, 60):.2f} s")
    assert agent.process.returncode == 0
    assert "draining" in agent.out.read_text()
    assert agent.tree() == set()


@pytest.mark.timeout(300)
def test_a_stuck_parent_of_a_drain_ends_at_the_second_signal(start: Start) -> None:
    agent = start(drain=True)
    os.kill(agent.pids()["server"], signal.SIGSTOP)
    agent.process.send_signal(signal.SIGTERM)
    agent.wait("the drain's begin", lambda: "draining" in agent.out.read_text(), 20)
    assert agent.process.poll() is None
    agent.process.send_signal(signal.SIGTERM)
    agent.wait("the stop", agent.ended, 20)
    assert agent.tree() == set()


@pytest.mark.timeout(300)
def test_a_dead_hollow_runtime_is_started_again(start: Start) -> None:
    agent = start()
    agent.serves("first", 60)
    (hollow,) = [pid for pid in procs.tree([agent.process.pid]) if _runs_hollow(pid)]
    kill(hollow)
    agent.wait("its pods anew", lambda: _restarted(agent, "first"), 60)


def _runs_hollow(pid: int) -> bool:
    return b"podherd.hollow" in command_line(pid).split(b"\0")


def _restarted(agent: Any, name: str) -> bool:
    return agent.running(name) and "started again" in agent.out.read_text()
