"""The process between the parent and one life of Ray: it starts the driver, and nothing of that life escapes it.

It is the subreaper of all below (prctl(2)). The kernel gives it every process of that life whose parent died, whatever
session, group or environment that process has; and no other process, as it starts nothing but the driver. So no list
and no mark is needed: what it is given comes from a dead actor and is killed. When the driver ends or the parent lets
go (by its death, too), it kills everything below it and ends. When it is killed itself, the kernel takes the driver,
and the parent, which is the next subreaper, deals with the rest.

It is a fork of the parent, which is small and has one thread, and so costs neither a start of Python nor its memory.
"""

import errno
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from podherd.agent import procs

LOOK_EVERY_S = 1.0
"""The kernel tells nobody of a process that changes its parent: one file of /proc is read so often."""
END_WITHIN_S = 5.0
_POLL_S = 0.01
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Program:
    """What the guard starts. own_fd: handed on under the same number. log_fd: its stdout and stderr."""

    command: Sequence[str]
    environment: Mapping[str, str]
    own_fd: int
    log_fd: int

    def start(self) -> subprocess.Popen[bytes]:
        """Raises OSError."""
        return subprocess.Popen(
            self.command, env=self.environment, pass_fds=[self.own_fd], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=self.log_fd, stderr=self.log_fd,
        )  # fmt: skip


class Guard:
    """A guard and its driver. `pid`: the guard's. `driver_pidfd`: the driver's; whoever made the guard closes it.

    It lasts as long as this object: hold it. To make one raises OSError when the driver cannot be started.
    """

    def __init__(self, driver: Program) -> None:
        """Start both."""
        self._socket, theirs = socket.socketpair()
        with theirs:
            self.pid = os.fork()
            if self.pid == 0:
                _become_guard(theirs.fileno(), driver)
        word, files, _, _ = socket.recv_fds(self._socket, 64, 1)
        if not files:
            self.end()
            number = int(word or errno.ECHILD)
            raise OSError(number, os.strerror(number), driver.command[0])
        (self.driver_pidfd,) = files

    def end(self) -> None:
        """Let go, and wait until it has ended everything and itself; it is killed when that takes too long."""
        self._socket.close()
        if procs.wait_dead([self.pid], END_WITHIN_S + 1.0):
            procs.kill([self.pid])
        os.waitpid(self.pid, 0)


def _become_guard(parent_fd: int, program: Program) -> NoReturn:
    """What the fork does; it never returns into the parent's code."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)  # the driver inherits it
        _keep_open(parent_fd, program.own_fd, program.log_fd)
        procs.become_subreaper()
        with socket.socket(fileno=parent_fd) as parent:
            _guard(parent, program)
    finally:
        os._exit(0)


def _keep_open(*files: int) -> None:
    """Close every other file: the lock of a parent that dies must be free, its pipes must end."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    first = 3
    for fd in sorted(files):
        os.closerange(first, fd)
        first = fd + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _guard(parent: socket.socket, program: Program) -> None:
    """Start the driver, tell the parent (a pidfd; for a failure the error's number), and stay until the end."""
    try:
        driver = program.start()
    except OSError as error:
        parent.send(str(error.errno).encode())
        return
    pidfd = os.pidfd_open(driver.pid)
    socket.send_fds(parent, [b"0"], [pidfd])
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    os.close(program.own_fd)
    while not select.select([parent.fileno(), pidfd], [], [], LOOK_EVERY_S)[0]:
        with suppress(OSError):  # of /proc, when the host has run out of files: the next look may have more luck
            _end_orphans(driver.pid)
    _end_all()


def _end_orphans(driver: int) -> None:
    """What we were given while the driver lives."""
    _bury()
    if orphans := procs.children() - {driver}:
        procs.kill_tree(orphans)


def _end_all() -> None:
    """Kill whatever is below us until the kernel says that there is nothing."""
    deadline = time.monotonic() + END_WITHIN_S
    while _bury() and time.monotonic() < deadline:
        procs.kill_tree(procs.children())
        time.sleep(_POLL_S)


def _bury() -> bool:
    """Collect every child that has ended; whether others are left. Without a child there is nothing below us at all."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return False
    return True
