"""Bytes to and from the streaming server. What was received outlives a write that fails.

A command that ends without having read all of its stdin (`head -1`) makes the server close a connection on which
bytes of ours are under way. The write that fails then must not take the output and the status, which came before,
with it: asyncio's streams would, so a plain connection uses the socket itself.
"""

import asyncio
import socket
from typing import Protocol

READ_BYTES = 64 * 1024


class Line(Protocol):
    """One connection. Reading raises EOFError at its end, OSError when it breaks."""

    async def read_exactly(self, count: int) -> bytes:
        """So many bytes."""

    async def read_until(self, mark: bytes, limit: int) -> bytes:
        """All up to and with the mark. Raises ValueError when it does not come within `limit` bytes."""

    async def read_rest(self, limit: int) -> bytes:
        """What comes until the end, at most `limit` bytes; a line that breaks ends it too."""

    async def write(self, data: bytes) -> None:
        """Send all of it, waiting for room. Raises OSError."""

    async def close(self) -> None:
        """End it at once."""


class SocketLine:
    """A connected, non-blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._rest = bytearray()
        self._writing = asyncio.Lock()

    async def read_exactly(self, count: int) -> bytes:
        """So many bytes."""
        while len(self._rest) < count:
            await self._more()
        return self._take(count)

    async def read_until(self, mark: bytes, limit: int) -> bytes:
        """All up to and with the mark."""
        while (at := self._rest.find(mark)) < 0:
            if len(self._rest) > limit:
                raise ValueError(f"more than {limit} bytes without {mark!r}")
            await self._more()
        return self._take(at + len(mark))

    async def read_rest(self, limit: int) -> bytes:
        """What comes until the end."""
        try:
            while len(self._rest) < limit:
                await self._more()
        except (EOFError, OSError):
            limit = min(limit, len(self._rest))
        return self._take(limit)

    async def _more(self) -> None:
        data = await asyncio.get_running_loop().sock_recv(self._sock, READ_BYTES)
        if not data:
            raise EOFError("the connection has ended")
        self._rest += data

    def _take(self, count: int) -> bytes:
        data = bytes(self._rest[:count])
        del self._rest[:count]
        return data

    async def write(self, data: bytes) -> None:
        """Send all of it; one at a time, so that frames stay whole."""
        async with self._writing:
            await asyncio.get_running_loop().sock_sendall(self._sock, data)

    async def close(self) -> None:
        """End it."""
        self._sock.close()


class StreamLine:
    """asyncio's streams: for TLS, and for the accepting side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read_exactly(self, count: int) -> bytes:
        """So many bytes."""
        return await self._reader.readexactly(count)  # its IncompleteReadError is an EOFError

    async def read_until(self, mark: bytes, limit: int) -> bytes:
        """All up to and with the mark."""
        try:
            data = await self._reader.readuntil(mark)
        except asyncio.LimitOverrunError as error:
            raise ValueError(str(error)) from error
        if len(data) > limit:
            raise ValueError(f"more than {limit} bytes without {mark!r}")
        return data

    async def read_rest(self, limit: int) -> bytes:
        """What comes until the end."""
        data = b""
        try:
            while len(data) < limit and (more := await self._reader.read(limit - len(data))):
                data += more
        except OSError:
            return data
        return data

    async def write(self, data: bytes) -> None:
        """Send all of it."""
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        """End it."""
        self._writer.transport.abort()
        try:
            await self._writer.wait_closed()
        except OSError:
            return
