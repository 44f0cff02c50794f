"""One SPDY/3.1 connection, either side of it.

There is no flow control by windows: the SPDY of Kubernetes has none, on either side. The connection's own bytes are
the bound: nothing is read before the last frame was dealt with, and a write waits for room.
"""

import itertools
from collections.abc import AsyncIterator, Mapping

from podherd.cri.streams import frames
from podherd.cri.streams.frames import Frame, Headers, Pinged
from podherd.cri.streams.line import Line

CHUNK_BYTES = 32 * 1024
"""Most bytes in a data frame of ours, as Go's copy loops make them."""


class Session:
    """Frames in and out. client: this side opened the connection, its streams and pings have odd numbers."""

    def __init__(self, line: Line, client: bool = True) -> None:
        self._line = line
        self._headers = Headers()
        self._parity = int(client)
        self._ids = itertools.count(1 if client else 2, 2)

    async def open(self, headers: Mapping[str, str], fin: bool = False) -> int:
        """Open a stream; its number. fin: nothing will be sent on it. Raises OSError."""
        number = next(self._ids)
        await self._line.write(self._headers.syn_stream(number, headers, fin))
        return number

    async def accept(self, stream: int) -> None:
        """Accept a stream that the peer opened. Raises OSError."""
        await self._line.write(self._headers.syn_reply(stream))

    async def send(self, stream: int, data: bytes, fin: bool = False) -> None:
        """Send bytes, waiting while the peer is slow; `fin` half-closes the stream behind them. Raises OSError."""
        last = max(0, len(data) - 1) // CHUNK_BYTES * CHUNK_BYTES
        for at in range(0, last + 1, CHUNK_BYTES):
            await self._line.write(frames.data(stream, data[at : at + CHUNK_BYTES], fin and at == last))

    async def reset(self, stream: int) -> None:
        """Give a stream up. Raises OSError."""
        await self._line.write(frames.reset(stream))

    async def frames(self) -> AsyncIterator[Frame]:
        """What the peer sends, until the connection ends. Pings are answered here.

        Raises OSError when the connection breaks, ValueError when the peer speaks no SPDY/3.1.
        """
        while True:
            try:
                first = frames.head(await self._line.read_exactly(frames.HEAD_BYTES))
                body = await self._line.read_exactly(first.length)
            except EOFError:
                return
            frame = self._headers.frame(first, body)
            if not isinstance(frame, Pinged):
                yield frame
            elif frame.id % 2 != self._parity:
                await self._line.write(frames.ping(frame.id))

    async def close(self) -> None:
        """End the connection, whatever is on its way."""
        await self._line.close()
