"""This side's terminal while a command in a container has it: raw, and restored whatever happens."""

import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def is_terminal() -> bool:
    """Whether stdin is one that can be made raw."""
    return sys.stdin is not None and os.isatty(0)


def size() -> tuple[int, int]:
    """Columns and rows of the terminal on stdin or stdout; 80 by 24 where neither is one."""
    for file in (0, 1):
        try:
            found = os.get_terminal_size(file)
        except OSError:
            continue
        return found.columns, found.lines
    return 80, 24


@contextmanager
def raw(resized: Callable[[], None]) -> Iterator[None]:
    """Every key goes through as it is, Ctrl-C too; `resized` is called when the window's size changes.

    SIGTERM and SIGHUP end the block as SystemExit with the shell's code for them, so that the terminal is restored.
    """
    before = termios.tcgetattr(0)
    handlers: dict[signal.Signals, Any] = {number: signal.signal(number, _end) for number in _ENDING}
    handlers[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, lambda _number, _frame: resized())
    try:
        tty.setraw(0, termios.TCSADRAIN)  # the usual TCSAFLUSH would drop what was typed meanwhile
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
