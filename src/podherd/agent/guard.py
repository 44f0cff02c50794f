"""The last process to go: when the parent was killed, it kills what the parent's orphans would have been.

The kernel takes the driver, Ray and the actors with the parent (parent-death signals), but a process that an actor
started has no such tie. The guard is a fork of the parent that sleeps on a pipe until the parent is gone.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from podherd.actors.ray_settings import MARKER
from podherd.agent import procs

LOOKS = 50
EVERY_S = 0.1
QUIET_LOOKS = 2
"""So many looks in a row must find nothing."""


@contextmanager
def standing(mark: str) -> Iterator[None]:
    """Guard the trees whose marker begins with `mark`, for as long as the block runs and a little longer."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _guard(reading, mark)
    os.close(reading)
    os.set_inheritable(writing, False)
    try:
        yield
    finally:
        os.close(writing)
        os.waitpid(pid, 0)


def _guard(reading: int, mark: str) -> None:
    """Sleep until the other end is closed, then clean up; never returns."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        pipe = os.dup2(reading, 0)
        os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))  # the parent's lock too: its file must be free when it dies
        os.read(pipe, 1)
        kill_marked(mark)
    finally:
        os._exit(0)


def kill_marked(mark: str) -> None:
    """Kill every process of the marked trees until none is found any more."""
    quiet = 0
    for _ in range(LOOKS):
        found = [pid for pid in procs.all_pids() if procs.environment_value(pid, MARKER).startswith(mark)]
        quiet = 0 if found else quiet + 1
        if quiet == QUIET_LOOKS:
            return
        procs.kill(found)
        time.sleep(EVERY_S)
