"""One life of the driver and its Ray, as the parent sees it: start it, hear it, know when it dies, end all of it."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from podherd.actors import ray_settings
from podherd.agent import link, procs
from podherd.agent.guard import Guard, Program
from podherd.model.settings import Settings

VITAL = ("raylet", "gcs_server")
"""Processes whose death ends this life, besides the driver's."""
DRIVER = [sys.executable, "-m", "podherd.agent.driver"]
"""The program, before the number of its socket."""
KILLED_WITHIN_S = 5.0
TAIL_BYTES = 2000


class Herd:
    """A driver process and what it reports. `files` change as processes become known: select on them anew each turn.

    To make one raises OSError when its files cannot be written.
    """

    def __init__(self, settings: Settings, run_dir: Path, tree: str, born_at: float) -> None:
        self.born_at = born_at
        self.complete = False
        self.failed = ""
        self.drained = False
        self.pids: dict[str, int] = {}
        self._tree = tree
        self._log = run_dir / "driver.log"
        self._reports = link.Reports()
        environment = ray_settings.environment(ray_settings.new_token(run_dir), tree)
        with self._log.open("wb") as log:
            self._socket, theirs = socket.socketpair()
            with theirs:
                command = [*DRIVER, str(theirs.fileno())]
                self._guard = Guard(Program(command, environment, theirs.fileno(), log.fileno()))
        self._pidfds = {"driver": self._guard.driver_pidfd}
        with suppress(OSError):  # it is dead already: the pidfd tells
            link.send_settings(self._socket, settings)
        self._socket.setblocking(False)

    @property
    def guard_pid(self) -> int:
        """The one process of this life that is the parent's own child."""
        return self._guard.pid

    def files(self) -> Iterator[tuple[int, str]]:
        """What to wait for: the socket (empty name) and the pidfd of each vital process, with its name."""
        yield self._socket.fileno(), ""
        for name, pidfd in self._pidfds.items():
            yield pidfd, name

    def hear(self) -> None:
        """Read what the driver says; a driver that has closed its socket is about to be known as dead."""
        try:
            data = self._socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._kill_driver()
        for report in self._reports.feed(data):
            self._take(report)

    def _take(self, report: dict[str, Any]) -> None:
        self.failed = report.get("failed", self.failed)
        self.drained = report.get("drained", self.drained)
        self.pids = report.get("pids", self.pids)
        self.complete = report.get("complete", self.complete)
        for name in VITAL:
            if name in self.pids and name not in self._pidfds:
                try:
                    self._pidfds[name] = os.pidfd_open(self.pids[name])
                except ProcessLookupError:
                    self._kill_driver()

    def _kill_driver(self) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfds["driver"], signal.SIGKILL)

    def order(self, line: bytes) -> None:
        """Tell the driver something; one that is dead does not mind."""
        try:
            self._socket.sendall(line)
        except OSError:
            return

    def owns(self, pid: int) -> bool:
        """Whether a process comes from this life: by its environment, or by what the driver reported."""
        return pid in self.pids.values() or procs.environment_value(pid, ray_settings.MARKER) == self._tree

    def end(self) -> None:
        """Wait until the whole tree is gone: the guard kills it, and what outlives a killed guard is killed here."""
        self._guard.end()
        mine = {pid for pid in procs.children() if self.owns(pid)}
        killed = procs.kill_tree(mine) if mine else set()
        procs.wait_dead(killed, KILLED_WITHIN_S)
        procs.bury(mine | killed)
        for pidfd in self._pidfds.values():
            os.close(pidfd)
        self._socket.close()

    def last_words(self) -> str:
        """Why it died as far as it could tell: its report, else the end of its log."""
        if self.failed:
            return self.failed
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, self._log.stat().st_size - TAIL_BYTES))
                return log.read().decode(errors="replace").strip().rpartition("\n")[2]
        except OSError as error:
            return f"its log cannot be read: {error.strerror}"
