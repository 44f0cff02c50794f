"""This side's terminal, made raw for a command elsewhere."""

import array
import fcntl
import os
import pty
import select
import termios
from collections.abc import Iterator

import pytest
from tests.kit.waiting import until

from podherd.agent import terminal


@pytest.fixture
def keyboard() -> Iterator[int]:
    """Where keys are typed, for a terminal that is this process's stdin meanwhile."""
    before = os.dup(0)
    ours, theirs = pty.openpty()
    os.dup2(theirs, 0)
    yield ours
    os.dup2(before, 0)
    for end in (before, ours, theirs):
        os.close(end)


def _waiting() -> int:
    count = array.array("i", [0])
    fcntl.ioctl(0, termios.FIONREAD, count)
    return count[0]


async def test_what_was_typed_before_the_terminal_is_raw_goes_to_the_command(keyboard: int) -> None:
    os.write(keyboard, b"ls\r")
    await until(lambda: _waiting() == 3)
    before = termios.tcgetattr(0)
    with terminal.raw(lambda: None):
        assert termios.tcgetattr(0) != before
        assert select.select([0], [], [], 5.0)[0]
        assert os.read(0, 100) == b"ls\n"
    assert termios.tcgetattr(0) == before
