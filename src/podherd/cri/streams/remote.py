"""A command in a container, or a container's own process, at the end of streams: `v4.channel.k8s.io` over SPDY.

Streams are opened by their header `streamType`: error, stdin, stdout, stderr, resize. The error stream carries one
metav1.Status at the end: Success, or Failure with reason NonZeroExitCode and the code as a cause (KEP-2867).
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

from podherd.cri.streams.frames import Data, Frame, Replied, Reset
from podherd.cri.streams.session import Session
from podherd.cri.streams.upgrade import connect
from podherd.errors import CriError

PROTOCOL = "v4.channel.k8s.io"
STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
"""Channel numbers of `channel.k8s.io`, which name the streams here too."""
STATUS_LIMIT_BYTES = 1 << 20
OPEN_S = 30.0
"""Time for the server to take the streams, as it has itself for them to come."""
STATUS_S = 10.0
"""Time from the end of both outputs to the status, where there is a stdin. containerd never tells the end of a command
that left more of its stdin unread than its pipes hold: it waits for somebody to read it."""
SILENT = "the command's output has ended, but the runtime does not tell how the command did"
LOST = "the runtime closed the connection before it told how the command ended"

_NAMES = {ERROR: "error", STDIN: "stdin", STDOUT: "stdout", STDERR: "stderr", RESIZE: "resize"}
"""In the order in which they are opened."""


@dataclass(frozen=True, slots=True)
class Wants:
    """Which streams are to be there. A terminal has no stderr of its own (CRI: tty and stderr exclude each other)."""

    stdin: bool = False
    stdout: bool = True
    stderr: bool = True
    tty: bool = False

    def channels(self) -> list[int]:
        """Those to open, in order."""
        there = {ERROR: True, STDIN: self.stdin, STDOUT: self.stdout, STDERR: self.stderr, RESIZE: self.tty}
        return [channel for channel in _NAMES if there[channel]]


class Remote:
    """Open streams. Leave it by `close`: the runtime then closes the command's stdin and drops its output."""

    def __init__(self, session: Session, streams: dict[int, int], status_s: float = STATUS_S) -> None:
        self._session = session
        self._streams = streams
        self._status_s = status_s
        self._channels = {stream: channel for channel, stream in streams.items()}
        self._open = {STDOUT, STDERR, ERROR} & set(streams)
        self._frames = session.frames()
        self.status = b""
        """The metav1.Status as JSON, once `output` has ended."""

    async def accepted(self) -> None:
        """Return once the server has taken every stream: bytes that come before that are lost in it."""
        missing = set(self._channels)
        async for frame in self._frames:
            if isinstance(frame, Reset):
                break
            if isinstance(frame, Replied):
                missing.discard(frame.stream)
            if not missing:
                return
        raise EOFError("it does not take the streams")

    async def write(self, data: bytes) -> None:
        """Bytes to stdin, waiting while the command does not read. Nothing happens once it has ended."""
        await self._send(STDIN, data)

    async def end_stdin(self) -> None:
        """EOF for the command; its output goes on."""
        await self._send(STDIN, b"", fin=True)

    async def resize(self, size: bytes) -> None:
        """The terminal's new size, as JSON `{"Width":80,"Height":24}`."""
        await self._send(RESIZE, size)

    async def _send(self, channel: int, data: bytes, fin: bool = False) -> None:
        if (stream := self._streams.get(channel)) is None:
            return
        with suppress(OSError):  # the command has ended: `output` tells how
            await self._session.send(stream, data, fin)
        if fin:
            del self._streams[channel]

    async def output(self) -> AsyncIterator[tuple[int, bytes]]:
        """STDOUT and STDERR bytes as they come, until the command has ended. Raises CriError when the line breaks."""
        try:
            while self._open:
                if (frame := await self._next()) is None:
                    break
                if isinstance(frame, Data) and (channel := self._channels.get(frame.stream)) is not None:
                    if channel == ERROR:
                        self._note_status(frame.data)
                    elif frame.data:
                        yield channel, frame.data
                self._note_end(frame)
        except TimeoutError as error:
            raise failed(SILENT) from error
        except (OSError, ValueError) as error:
            raise failed(f"{LOST}: {error}") from error
        if not self.status:
            raise failed(LOST)

    async def _next(self) -> Frame | None:
        limit_s = self._status_s if self._open == {ERROR} and STDIN in self._channels.values() else None
        async with asyncio.timeout(limit_s):
            return await anext(self._frames, None)

    def _note_status(self, data: bytes) -> None:
        if len(self.status) + len(data) > STATUS_LIMIT_BYTES:
            raise ValueError("the status of the end is too long")
        self.status += data

    def _note_end(self, frame: Frame) -> None:
        if isinstance(frame, Reset) or (isinstance(frame, (Data, Replied)) and frame.fin):
            self._open.discard(self._channels.get(frame.stream, -1))

    async def close(self) -> None:
        """End the connection."""
        await self._session.close()


def failed(reason: str) -> CriError:
    """The error of a line that is of no use any more."""
    return CriError("the runtime's streaming server", "UNAVAILABLE", reason)


async def open_remote(url: str, wants: Wants) -> Remote:
    """Open the streams behind a URL of CRI Exec or Attach. Raises CriError."""
    session = await connect(url, PROTOCOL)
    try:
        async with asyncio.timeout(OPEN_S):
            streams = {channel: await session.open({"streamtype": _NAMES[channel]}) for channel in wants.channels()}
            remote = Remote(session, streams)
            await remote.accepted()
            return remote
    except BaseException as error:
        await session.close()
        if isinstance(error, (OSError, EOFError, ValueError)):
            raise failed(f"cannot be spoken to: {error or 'it does not answer'}") from error
        raise
