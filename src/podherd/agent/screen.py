"""Where the agent's words go: above a live table, as plain lines between the pods' changes, or alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podherd.agent.runtime_choice import Say

STOP_S = 5.0
_SHOWN = ' actor=sources event="manifest problem'
"""Begin of the log lines about a manifest that cannot be used, or can again."""


def say_plainly(line: str) -> None:
    """A line on stdout."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def watching(root_dir: Path, terminal: bool) -> Iterator[Say]:
    """A child process that shows the pods (podherd.agent.table_live); the answer hands it a line to print.

    A child that died is done without: the lines go to stdout then.
    """
    command = [sys.executable, "-m", "podherd.agent.table_live", "live" if terminal else "plain", str(root_dir)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE)
    if child.stdin is None:
        raise AssertionError("a pipe was asked for")
    lines = Lines(child.stdin.fileno())

    def say(line: str) -> None:
        try:
            lines.send(line)
        except OSError:
            say_plainly(line)

    try:
        yield say
    finally:
        child.stdin.close()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def but_shown(on_log: Say) -> Say:
    """A taker of the actors' log lines that leaves out those whose news the screen of pods shows itself."""

    def take(line: str) -> None:
        if _SHOWN not in line:
            on_log(line)

    return take


class Lines:
    """Lines into a pipe, never waiting: the parent has more to do than to wait for a stopped terminal."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._rest = b""
        self._dropped = 0

    def send(self, line: str) -> None:
        """Write it if the pipe has room; a later line tells how many had none. Raises OSError when nobody reads."""
        if self._dropped and self._write(f"({self._dropped} lines are not shown)\n"):
            self._dropped = 0
        if self._dropped or not self._write(f"{line}\n"):
            self._dropped += 1

    def _write(self, text: str) -> bool:
        """Whether the text is on its way; what of it found no room goes first the next time."""
        if not self._flush():
            return False
        self._rest = text.encode(errors="replace")
        before = len(self._rest)
        self._flush()
        if len(self._rest) == before:
            self._rest = b""
            return False
        return True

    def _flush(self) -> bool:
        while self._rest:
            try:
                self._rest = self._rest[os.write(self._pipe, self._rest) :]
            except BlockingIOError:
                return False
        return True
