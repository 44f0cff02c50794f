"""A command in a container on this process's stdin, stdout and stderr, to its exit code."""

import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import BinaryIO

from podherd.agent import terminal
from podherd.agent.websocket import WebSocket
from podherd.errors import PodherdError

STDIN, STDOUT, STDERR, STATUS, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
"""Channels of `v5.channel.k8s.io` (KEP-4006)."""
READ_BYTES = 32 * 1024
INTERRUPTED = 130
"""The shell's code for SIGINT."""


NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""The shell's codes for a command that is not there, and for one that is and cannot be run."""


class RemoteError(PodherdError):
    """The command could not be run, or nobody knows how it ended."""


class NotStartedError(RemoteError):
    """The runtime could not start the command, and says that the command is why. code: what `podherd` exits with."""

    def __init__(self, what: str, message: str, code: int) -> None:
        super().__init__(what, message, "look for it inside the container, or give its whole path")
        self.code = code


def run(socket: WebSocket, stdin: bool, tty: bool, what: str) -> int:
    """Copy the streams until the command ends; its exit code. Raises RemoteError, OSError of the output.

    what: names the command in errors. stdin: ours is its. tty: ours becomes raw and its size follows the window's.
    """

    def resized() -> None:
        # A thread of its own: a signal handler may not wait for the socket's lock, which this thread may hold.
        threading.Thread(target=_send, args=(socket, bytes((RESIZE,)) + _size()), daemon=True).start()

    try:
        with terminal.raw(resized) if tty else nullcontext():
            if tty:
                _send(socket, bytes((RESIZE,)) + _size())
            if stdin:
                threading.Thread(target=_copy_stdin, args=(socket, tty), daemon=True).start()
            status = _copy_output(socket)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        socket.close()
    return exit_code(status, what)


def _copy_output(socket: WebSocket) -> bytes:
    """The status that came last, empty when none did."""
    outputs: dict[int, BinaryIO] = {STDOUT: sys.stdout.buffer, STDERR: sys.stderr.buffer}
    status = b""
    messages = socket.messages()
    while (message := _next(messages)) is not None:
        channel, data = (message[0], message[1:]) if message else (CLOSE, b"")
        if channel == STATUS:
            status += data
        elif (output := outputs.get(channel)) is not None:
            output.write(data)
            output.flush()
    return status


def _next(messages: Iterator[bytes]) -> bytes | None:
    """The next message; None at the end, also when the agent dies."""
    try:
        return next(messages, None)
    except ConnectionError:
        return None


def _copy_stdin(socket: WebSocket, tty: bool) -> None:
    """Until its end, which is passed on; a terminal has none while anybody sits at it."""
    with suppress(OSError):
        while data := _read():
            socket.send(bytes((STDIN,)) + data)
        if not tty:
            socket.send(bytes((CLOSE, STDIN)))


def _read() -> bytes:
    """The next of stdin; one that is closed or broken has ended."""
    try:
        return os.read(0, READ_BYTES)
    except OSError:
        return b""


def _send(socket: WebSocket, message: bytes) -> None:
    with suppress(OSError):
        socket.send(message)


def _size() -> bytes:
    columns, rows = terminal.size()
    return json.dumps({"Width": columns, "Height": rows}).encode()


def exit_code(status: bytes, what: str) -> int:
    """What the metav1.Status of the end says: 0, or the command's code. Raises RemoteError where it has none."""
    try:
        told = json.loads(status)
        if told["status"] == "Success":
            return 0
        if told.get("reason") == "NonZeroExitCode":
            causes = told["details"]["causes"]
            return int(next(cause["message"] for cause in causes if cause["reason"] == "ExitCode"))
        message = str(told.get("message") or "the runtime gives no reason")
    except (ValueError, KeyError, TypeError, StopIteration):
        raise RemoteError(what, "the agent went away before the command ended", "podherd doctor") from None
    message = message.removeprefix("Internal error occurred: ")
    if code := _not_started(message):
        raise NotStartedError(what, message, code)
    raise RemoteError(what, message)


_WHY = re.compile(r'exec: "[^"]*": .*?(?:(not found|no such file)|permission denied|is a directory)')
"""How runc tells it: `exec: "NAME": executable file not found in $PATH`. What else fails names no command."""


def _not_started(message: str) -> int:
    """The code of a command that the runtime could not start, 0 when that is not what the message says."""
    found = _WHY.search(message)
    return 0 if found is None else NOT_FOUND if found[1] else NOT_EXECUTABLE
