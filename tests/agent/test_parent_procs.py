"""Process trees, orphans and the guard, on real processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from podherd.actors.ray_settings import MARKER
from podherd.agent import guard, procs
from podherd.agent.guard import Guard, Program

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


DRIVER = """
sh -c 'setsid env -i sleep 900 & echo $!'
sleep 901 & echo $!
echo $$
wait
"""
"""A driver with an orphan that nothing but its descent tells of, and a child. Their pids and its own are in its log."""


class Life:
    """A guard, and the pids in the log of its driver."""

    def __init__(self, log: Path) -> None:
        self._log = log
        with log.open("wb") as file:
            self.guard = Guard(Program(["sh", "-c", DRIVER], os.environ, file.fileno(), file.fileno()))
        _until(lambda: len(self.pids) == 3)

    @property
    def pids(self) -> list[int]:
        return [int(word) for word in self._log.read_text().split()]

    def end(self) -> None:
        self.guard.end()
        os.close(self.guard.driver_pidfd)


def test_the_guard_kills_an_orphan_without_a_mark_and_no_child_of_the_living(tmp_path: Path) -> None:
    life = Life(tmp_path / "log")
    orphan, child, driver = life.pids
    assert procs.wait_dead([orphan], 10.0) == set()
    assert not procs.is_dead(child)
    assert not procs.is_dead(driver)
    life.end()


def test_nothing_is_left_once_the_guard_has_ended(tmp_path: Path) -> None:
    life = Life(tmp_path / "log")
    life.end()
    assert all(map(procs.is_dead, [life.guard.pid, *life.pids]))


def test_the_guard_ends_all_when_its_driver_dies(tmp_path: Path) -> None:
    life = Life(tmp_path / "log")
    signal.pidfd_send_signal(life.guard.driver_pidfd, signal.SIGKILL)
    assert procs.wait_dead([life.guard.pid, *life.pids], 10.0) == set()
    life.end()


def test_a_guard_that_is_stuck_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "END_WITHIN_S", -0.9)
    life = Life(tmp_path / "log")
    os.kill(life.guard.pid, signal.SIGSTOP)
    life.end()
    assert procs.is_dead(life.guard.pid)
    procs.kill(life.pids)


def test_a_driver_that_cannot_be_started_is_an_error_of_the_system(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file, pytest.raises(FileNotFoundError, match="/no/such/program"):
        Guard(Program(["/no/such/program"], os.environ, file.fileno(), file.fileno()))


GUARDED = f"""
import os, sys, time
from podherd.agent.guard import Guard, Program
with open(sys.argv[1], "wb") as log:
    guard = Guard(Program(["sh", "-c", {DRIVER!r}], os.environ, log.fileno(), log.fileno()))
time.sleep(900)
"""


def test_the_guard_outlives_a_killed_parent_and_ends_all(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with subprocess.Popen([sys.executable, "-c", GUARDED, str(log)], stdout=subprocess.PIPE) as parent:
        _until(lambda: log.exists() and log.read_text().count("\n") == 3)
        parent.kill()
        assert parent.stdout is not None
        assert parent.stdout.read() == b""  # the guard holds no file of the parent's
    assert procs.wait_dead(map(int, log.read_text().split()), 10.0) == set()
