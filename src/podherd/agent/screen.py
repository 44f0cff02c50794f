"""Where the agent's words go: above a live table, as plain lines between the pods' changes, or alone."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from podherd.agent.runtime_choice import Say

STOP_S = 5.0


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
    child = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)

    def say(line: str) -> None:
        try:
            if child.stdin:
                child.stdin.write(f"{line}\n")
                child.stdin.flush()
        except (BrokenPipeError, ValueError):
            say_plainly(line)

    try:
        yield say
    finally:
        with suppress(BrokenPipeError):
            if child.stdin:
                child.stdin.close()
        try:
            child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
