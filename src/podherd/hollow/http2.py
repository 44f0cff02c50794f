"""One client's connection: gRPC over HTTP/2, as much of it as a CRI client uses, in one pass over what was read.

Why not grpc.aio: its server costs about 0.25 ms of CPU and eight thread switches a call, more than the agent under
test; a call that is answered at once costs a tenth of that here. Requests may not be compressed; trailers and
metadata of requests are not looked at; a deadline is the client's to keep (it resets the stream).
"""

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import TypeAlias, cast

from hpack import HPACKError

from podherd.hollow import frames
from podherd.hollow.frames import RequestPaths, ResponseHeaders, frame
from podherd.hollow.refusal import RefusedError

Reply: TypeAlias = bytes | tuple[bytes, ...]
"""An encoded reply, whole or in pieces that are it one after another."""
Unary: TypeAlias = Callable[[bytes], Reply | Awaitable[Reply]]
"""Takes an encoded request; the reply, or something to wait for. Raises RefusedError."""
Streaming: TypeAlias = Callable[[bytes], AsyncIterator[bytes]]
Routes: TypeAlias = Mapping[bytes, tuple[Unary | None, Streaming | None]]
"""By `/service/method`: one of the two."""

_OUR_WINDOW = 1 << 30
_WINDOW_STEP = 1 << 24
_HELLO = frames.settings((frames.INITIAL_WINDOW_SIZE, _OUR_WINDOW), (3, 1 << 20)) + frames.window_update(0, _OUR_WINDOW)
_LARGEST_REQUEST = 16 << 20
_LARGEST_FRAME = 16384
"""Of the client's: what RFC 9113 allows without a setting."""
_PREFIX = 5
"""Bytes before a gRPC message: a flag and its length."""


class _Stream:
    """One call: what came, and what still has to go."""

    __slots__ = ("begun", "done", "number", "path", "refusal", "request", "task", "waiting", "window")

    def __init__(self, number: int, path: bytes, window: int) -> None:
        self.number = number
        self.path = path
        self.window = window
        self.request = bytearray()
        self.waiting: list[memoryview] = []
        self.begun = False
        """The response's headers went out."""
        self.done = False
        """Nothing more will be added to `waiting`: the trailers follow it, of success or of `refusal`."""
        self.refusal: RefusedError | None = None
        self.task: asyncio.Task[None] | None = None


class Connection(asyncio.Protocol):
    """The protocol of one accepted socket; `live` holds every connection that is open."""

    def __init__(self, routes: Routes, live: "set[Connection]") -> None:
        self._routes = routes
        self._live = live
        self._paths = RequestPaths()
        self._headers = ResponseHeaders()
        self._streams: dict[int, _Stream] = {}
        self._blocked: dict[int, _Stream] = {}
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._greeted = False
        self._reading = False
        self._out: list[bytes | memoryview] = []
        self._window = 65535
        self._stream_window = 65535
        self._max_frame = 16384
        self._received = 0
        self._open_block: tuple[int, int, bytes] | None = None
        self._last = 0
        self._on = {
            frames.DATA: self._data,
            frames.HEADERS: self._header_block,
            frames.CONTINUATION: self._continuation,
            frames.RST_STREAM: self._reset,
            frames.SETTINGS: self._settings,
            frames.PING: self._ping,
            frames.WINDOW_UPDATE: self._window_update,
        }

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Say what this side allows."""
        self._transport = cast("asyncio.Transport", transport)
        self._live.add(self)
        self._send(_HELLO)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Every call that is still going is given up."""
        self._live.discard(self)
        self._transport = None
        for stream in self._streams.values():
            if stream.task is not None:
                stream.task.cancel()
        self._streams.clear()
        self._blocked.clear()

    def close(self) -> None:
        """Go away, now."""
        if self._transport is not None:
            self._transport.write(frame(frames.GOAWAY, 0, 0, self._last.to_bytes(4) + b"\0\0\0\0"))
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Handle every whole frame, then write all that it led to at once."""
        data = self._rest + data if self._rest else bytes(data)
        if not self._greeted:
            if len(data) < len(frames.PREFACE):
                self._rest = data
                return
            if not data.startswith(frames.PREFACE):
                self._abort()
                return
            self._greeted, data = True, data[len(frames.PREFACE) :]
        self._reading = True
        try:
            self._rest = self._frames(data)
        except (HPACKError, IndexError):
            self._abort()
        finally:
            self._reading = False
            self._flush()

    def _frames(self, data: bytes) -> bytes:
        position, end = 0, len(data)
        while end - position >= 9:
            high, low, kind, flags, stream = frames.HEAD.unpack_from(data, position)
            size = high << 8 | low
            if size > _LARGEST_FRAME:
                self._abort()
                return b""
            after = position + 9 + size
            if after > end:
                break
            handle = self._on.get(kind)
            if handle is not None:
                handle(flags, stream & 0x7FFFFFFF, data[position + 9 : after])
            position = after
        return data[position:]

    def _abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _send(self, *parts: bytes | memoryview) -> None:
        self._out.extend(parts)
        if not self._reading:
            self._flush()

    def _flush(self) -> None:
        if self._out and self._transport is not None:
            self._transport.write(b"".join(self._out))
        self._out.clear()

    # What the client sends.

    def _header_block(self, flags: int, number: int, payload: bytes) -> None:
        block = frames.bare(flags, payload)
        if flags & frames.END_HEADERS:
            self._opened(flags, number, block)
        else:
            self._open_block = (flags, number, block)

    def _continuation(self, flags: int, number: int, payload: bytes) -> None:
        if self._open_block is None or self._open_block[1] != number:
            raise HPACKError("continuation of nothing")
        first, _, block = self._open_block
        self._open_block = (first, number, block + payload)
        if flags & frames.END_HEADERS:
            self._open_block = None
            self._opened(first, number, block + payload)

    def _opened(self, flags: int, number: int, block: bytes) -> None:
        path = self._paths.path(block)
        if number in self._streams:
            return
        self._last = number
        self._streams[number] = stream = _Stream(number, path, self._stream_window)
        if flags & frames.END_STREAM:
            self._asked(stream)

    def _data(self, flags: int, number: int, payload: bytes) -> None:
        self._received += len(payload)
        if self._received >= _WINDOW_STEP:
            self._send(frames.window_update(0, self._received))
            self._received = 0
        if (stream := self._streams.get(number)) is None:
            return
        stream.request += frames.bare(flags & frames.PADDED, payload) if flags & frames.PADDED else payload
        if len(stream.request) > _LARGEST_REQUEST + _PREFIX:
            self._fail(stream, RefusedError("RESOURCE_EXHAUSTED", f"request of more than {_LARGEST_REQUEST} bytes"))
        elif flags & frames.END_STREAM:
            self._asked(stream)

    def _reset(self, _flags: int, number: int, _payload: bytes) -> None:
        self._blocked.pop(number, None)
        if (stream := self._streams.pop(number, None)) is not None and stream.task is not None:
            stream.task.cancel()

    def _settings(self, flags: int, _number: int, payload: bytes) -> None:
        if flags & frames.ACK:
            return
        for setting, value in frames.settings_in(payload):
            if setting == frames.INITIAL_WINDOW_SIZE:
                for stream in self._streams.values():
                    stream.window += value - self._stream_window
                self._stream_window = value
            elif setting == frames.MAX_FRAME_SIZE:
                self._max_frame = value
            elif setting == frames.HEADER_TABLE_SIZE and value < 4096:
                self._headers.learn = False
        self._send(frame(frames.SETTINGS, frames.ACK, 0))
        self._pump()

    def _ping(self, flags: int, _number: int, payload: bytes) -> None:
        if not flags & frames.ACK:
            self._send(frame(frames.PING, frames.ACK, 0, payload))

    def _window_update(self, _flags: int, number: int, payload: bytes) -> None:
        more = frames.number_in(payload)
        if number == 0:
            self._window += more
        elif (stream := self._streams.get(number)) is not None:
            stream.window += more
        self._pump()

    # What it is answered.

    def _asked(self, stream: _Stream) -> None:
        unary, streaming = self._routes.get(stream.path, (None, None))
        request = stream.request
        if unary is None and streaming is None:
            self._fail(stream, RefusedError("UNIMPLEMENTED", f"unknown method {stream.path.decode(errors='replace')}"))
        elif len(request) < _PREFIX or request[0] or int.from_bytes(request[1:5]) != len(request) - _PREFIX:
            self._fail(stream, RefusedError("INTERNAL", "not one uncompressed message"))
        elif unary is not None:
            self._unary(stream, unary, bytes(request[_PREFIX:]))
        elif streaming is not None:
            self._begin(stream, self._stream(stream, streaming(bytes(request[_PREFIX:]))))

    def _unary(self, stream: _Stream, call: Unary, request: bytes) -> None:
        try:
            reply = call(request)
        except RefusedError as refusal:
            self._fail(stream, refusal)
        except Exception as error:
            self._fail(stream, _unforeseen(error))
        else:
            if isinstance(reply, (bytes, tuple)):
                self._reply(stream, reply)
            else:
                self._begin(stream, self._later(stream, reply))

    def _begin(self, stream: _Stream, work: Coroutine[None, None, None]) -> None:
        stream.task = asyncio.get_running_loop().create_task(work)

    async def _later(self, stream: _Stream, reply: Awaitable[Reply]) -> None:
        try:
            body = await reply
        except RefusedError as refusal:
            self._fail(stream, refusal)
        except Exception as error:
            self._fail(stream, _unforeseen(error))
        else:
            self._reply(stream, body)

    async def _stream(self, stream: _Stream, messages: AsyncIterator[bytes]) -> None:
        try:
            async for message in messages:
                self._queue(stream, message)
        except RefusedError as refusal:
            self._fail(stream, refusal)
        except Exception as error:
            self._fail(stream, _unforeseen(error))
        else:
            self._finish(stream)

    def _reply(self, stream: _Stream, body: Reply) -> None:
        number = stream.number
        if number not in self._streams:
            return
        if isinstance(body, tuple):
            self._queue(stream, *body)
            self._finish(stream)
            return
        size = len(body) + _PREFIX
        if size <= self._max_frame and size <= self._window and size <= stream.window:
            self._window -= size
            del self._streams[number]
            head = frame(frames.HEADERS, frames.END_HEADERS, number, self._headers.head())
            data = frames.HEAD.pack(size >> 8, size & 0xFF, frames.DATA, 0, number)
            end = frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, number, self._headers.ok())
            self._send(head, data, b"\0", len(body).to_bytes(4), body, end)
        else:
            self._queue(stream, body)
            self._finish(stream)

    def _fail(self, stream: _Stream, refusal: RefusedError) -> None:
        stream.refusal = refusal
        self._finish(stream)

    def _finish(self, stream: _Stream) -> None:
        if stream.number in self._streams:
            stream.done = True
            self._blocked[stream.number] = stream
            self._pump()

    def _queue(self, stream: _Stream, *pieces: bytes) -> None:
        """One message more."""
        if stream.number in self._streams:
            stream.waiting.append(memoryview(b"\0" + sum(map(len, pieces)).to_bytes(4)))
            stream.waiting.extend(memoryview(piece) for piece in pieces if piece)
            self._blocked[stream.number] = stream
            self._pump()

    def _pump(self) -> None:
        for stream in list(self._blocked.values()):
            self._drain(stream)
            if stream.waiting:
                continue
            del self._blocked[stream.number]
            if stream.done:
                self._streams.pop(stream.number, None)
                self._send(
                    frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream.number, self._end(stream))
                )

    def _end(self, stream: _Stream) -> bytes:
        """The last header block; made only as it is sent, for blocks speak of the client's table as it is then."""
        head = b"" if stream.begun else self._headers.head()
        if stream.refusal is None:
            return head + self._headers.ok()
        return head + self._headers.failure(frames.STATUS_NUMBERS[stream.refusal.code], stream.refusal.text)

    def _drain(self, stream: _Stream) -> None:
        """Send as much as both windows let through."""
        out: list[bytes | memoryview] = []
        if stream.waiting and not stream.begun:
            stream.begun = True
            out.append(frame(frames.HEADERS, frames.END_HEADERS, stream.number, self._headers.head()))
        waiting = stream.waiting
        sent = 0
        while sent < len(waiting):
            part = waiting[sent]
            size = min(len(part), self._max_frame, self._window, stream.window)
            if size <= 0:
                break
            self._window -= size
            stream.window -= size
            out += (frames.HEAD.pack(size >> 8, size & 0xFF, frames.DATA, 0, stream.number), part[:size])
            if size == len(part):
                sent += 1
            else:
                waiting[sent] = part[size:]
        del waiting[:sent]
        if out:
            self._send(*out)


def _unforeseen(error: Exception) -> RefusedError:
    """A fault of this program: the client hears of it, and its traceback goes to stderr."""
    traceback.print_exception(error, file=sys.stderr)
    return RefusedError("INTERNAL", f"{type(error).__name__}: {error}")
