"""Process trees, orphans and the guard, on real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from podherd.actors.ray_settings import MARKER
from podherd.agent import guard, procs

SLEEP = "import time; time.sleep(900)"
FAMILY = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "{SLEEP}"])
print(child.pid, flush=True)
child.wait()
"""


def _until(done: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    """A process and its child; both are gone afterwards."""
    environment = {**os.environ, MARKER: "test-1.1"}
    with subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        yield parent.pid, child
        procs.kill([child, parent.pid])


def test_a_tree_is_killed_as_a_whole(family: tuple[int, int]) -> None:
    assert procs.tree([family[0]]) == set(family)
    assert procs.kill_tree([family[0]]) == set(family)
    assert procs.wait_dead(family, 10.0) == set()


def test_the_dead_have_no_tree() -> None:
    with subprocess.Popen(["true"]) as gone:
        pid = gone.pid
    assert procs.tree([pid]) == set()
    assert procs.kill_tree([pid]) == set()
    assert procs.is_dead(pid)


def test_a_subreaper_gets_the_orphan_and_knows_it_by_its_mark(family: tuple[int, int]) -> None:
    procs.become_subreaper()
    try:
        os.kill(family[0], signal.SIGKILL)
        _until(lambda: family[1] in procs.children())
        assert procs.environment_value(family[1], MARKER) == "test-1.1"
        procs.kill([family[1]])
        assert procs.wait_dead([family[1]], 10.0) == set()
        procs.bury([family[1]])
        assert family[1] not in procs.children()
    finally:
        procs.become_subreaper(False)


def test_a_variable_that_is_not_there_is_empty(family: tuple[int, int]) -> None:
    assert procs.environment_value(family[0], "NO_SUCH_THING") == ""
    assert procs.environment_value(2**22 + 1, MARKER) == ""


def test_the_guard_kills_marked_trees_when_its_block_ends_and_no_others(family: tuple[int, int]) -> None:
    with guard.standing("other-9"):
        pass
    assert not procs.is_dead(family[1])
    with guard.standing("test-1"):
        assert not procs.is_dead(family[1])
    assert procs.wait_dead(family, 5.0) == set()


GUARDED = f"""
import subprocess, sys, time
from podherd.agent import guard
with guard.standing("test-2"):
    child = subprocess.Popen([sys.executable, "-c", "{SLEEP}"], env={{"{MARKER}": "test-2.1"}}, start_new_session=True)
    print(child.pid, flush=True)
    time.sleep(900)
"""


def test_the_guard_outlives_a_killed_parent_and_kills_its_orphans() -> None:
    with subprocess.Popen([sys.executable, "-c", GUARDED], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        parent.wait()
    assert procs.wait_dead([child], 10.0) == set()
