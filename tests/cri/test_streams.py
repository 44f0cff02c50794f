"""SPDY frames, sessions and remote commands against a scripted server on a real socket."""

import asyncio
import hashlib
import socket
import ssl
import struct
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podherd.cri.streams import frames, upgrade
from podherd.cri.streams.dictionary import DICTIONARY
from podherd.cri.streams.frames import Data, Headers, Opened, Other, Pinged, Replied, Reset
from podherd.cri.streams.line import SocketLine, StreamLine
from podherd.cri.streams.remote import LOST, SILENT, STDERR, STDOUT, Remote, Wants, open_remote
from podherd.cri.streams.session import CHUNK_BYTES, Session
from podherd.errors import CriError

SUCCESS = b'{"metadata":{},"status":"Success"}'
NO_STDIN = Wants()
IN = Wants(stdin=True)
GOAWAY = bytes.fromhex("8003000700000008") + bytes(8)
SWITCH = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
    b"X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n"
)


def read(headers: Headers, data: bytes) -> Any:
    first = frames.head(data[:8])
    assert len(data) == 8 + first.length
    return headers.frame(first, data[8:])


def test_the_dictionary_is_that_of_the_protocol() -> None:
    assert len(DICTIONARY) == 1423
    assert hashlib.sha256(DICTIONARY).hexdigest() == "51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02"


def test_a_stream_is_opened_by_the_bytes_of_the_protocol() -> None:
    frame = Headers().syn_stream(5, {"streamtype": "stdin"})
    assert frame[:4] == bytes.fromhex("80030001")
    assert struct.unpack(">IIH", frame[8:18]) == (5, 0, 0)
    block = zlib.decompressobj(zdict=DICTIONARY).decompress(frame[18:])
    assert block == struct.pack(">II", 1, 10) + b"streamtype" + struct.pack(">I", 5) + b"stdin"


def test_headers_share_one_compression_in_order() -> None:
    sender, receiver = Headers(), Headers()
    for number in range(1, 9, 2):
        frame = read(
            receiver, sender.syn_stream(number, {"streamtype": "stdout", "port": str(number)}, fin=number == 7)
        )
        assert frame == Opened(number, {"streamtype": "stdout", "port": str(number)}, number == 7)
    assert read(receiver, sender.syn_reply(3)) == Replied(3, False)


@given(st.integers(1, 2**31 - 1), st.binary(max_size=300), st.booleans())
def test_data_frames_come_back_as_they_went(stream: int, body: bytes, fin: bool) -> None:
    assert read(Headers(), frames.data(stream, body, fin)) == Data(stream, body, fin)


def test_control_frames_come_back_as_they_went() -> None:
    assert read(Headers(), frames.reset(7)) == Reset(7, frames.CANCEL)
    assert read(Headers(), frames.ping(2)) == Pinged(2)
    assert read(Headers(), GOAWAY) == Other(7)
    assert read(Headers(), bytes.fromhex("8003000400000004") + bytes(4)) == Other(4)


@given(st.binary(min_size=8, max_size=200))
def test_no_bytes_do_worse_than_a_value_error(data: bytes) -> None:
    try:
        Headers().frame(frames.head(data[:8]), data[8:])
    except ValueError as error:
        assert str(error)  # noqa: PT017  # any other exception fails the test


def test_headers_that_blow_up_are_refused() -> None:
    packer = zlib.compressobj(zdict=DICTIONARY)
    bomb = packer.compress(bytes(10 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(ValueError, match="larger than"):
        Headers().frame(frames.Head(frames.Kind.SYN_REPLY, 0, 0, len(bomb) + 4), struct.pack(">I", 1) + bomb)


Serve = Callable[[Session, StreamLine], Awaitable[None]]


@asynccontextmanager
async def server(serve: Serve, answer: bytes = SWITCH, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A URL at which each connection is upgraded and then served."""
    tasks = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = StreamLine(reader, writer)
        tasks.add(asyncio.current_task())
        try:
            await line.read_until(b"\r\n\r\n", 10_000)
            await line.write(answer)
            if answer is SWITCH:
                await serve(Session(line, client=False), line)
        finally:
            writer.close()

    listening = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    port = listening.sockets[0].getsockname()[1]
    try:
        async with asyncio.timeout(20):
            yield f"{'https' if tls else 'http'}://127.0.0.1:{port}/exec/token?a=b"
    finally:
        listening.close()
        await asyncio.gather(*tasks, return_exceptions=True)


async def streams_of(session: Session, count: int) -> tuple[dict[str, int], AsyncIterator[Any]]:
    """The first `count` streams by name, accepted, and what comes after them."""
    found: dict[str, int] = {}
    coming = session.frames()
    async for frame in coming:
        found[frame.headers["streamtype"]] = frame.stream
        await session.accept(frame.stream)
        if len(found) == count:
            break
    return found, coming


async def all_of(remote: Remote) -> list[tuple[int, bytes]]:
    try:
        return [item async for item in remote.output()]
    finally:
        await remote.close()


async def test_output_and_status_come_and_a_ping_is_answered() -> None:
    ponged: list[Any] = []

    async def serve(session: Session, line: StreamLine) -> None:
        streams, _ = await streams_of(session, 3)
        await line.write(frames.ping(2) + frames.ping(1) + GOAWAY)
        ponged.append(await line.read_exactly(12))
        await session.send(streams["stdout"], b"out")
        await session.send(streams["stderr"], b"err", fin=True)
        await session.send(streams["stdout"], b"", fin=True)
        await session.send(streams["error"], SUCCESS, fin=True)

    async with server(serve) as url:
        remote = await open_remote(url, NO_STDIN)
        reading = asyncio.create_task(all_of(remote))
        assert await reading == [(STDOUT, b"out"), (STDERR, b"err")]
        assert remote.status == SUCCESS
        assert ponged == [frames.ping(2)]  # and none to ping 1, whose number is one of ours


async def test_nothing_is_sent_before_the_streams_are_accepted_and_large_stdin_goes_in_chunks() -> None:
    seen: list[Any] = []
    body = bytes(range(256)) * 1000

    async def serve(session: Session, _line: StreamLine) -> None:
        streams, coming = await streams_of(session, 4)
        async for frame in coming:
            seen.append(frame)
            if frame.fin:
                break
        await session.send(streams["error"], SUCCESS, fin=True)
        for name in ("stdout", "stderr"):
            await session.reset(streams[name])

    async with server(serve) as url:
        remote = await open_remote(url, IN)
        await remote.write(body)
        await remote.end_stdin()
        await remote.write(b"after the end")
        assert await all_of(remote) == []
    assert b"".join(frame.data for frame in seen) == body
    assert max(len(frame.data) for frame in seen) == CHUNK_BYTES
    assert [frame.fin for frame in seen] == [False] * (len(seen) - 1) + [True]


async def test_what_was_said_before_the_server_closed_on_our_stdin_is_not_lost() -> None:
    async def serve(session: Session, line: StreamLine) -> None:
        streams, _ = await streams_of(session, 4)
        for _ in range(20):
            await session.send(streams["stdout"], b"x" * 1000)
        await session.send(streams["error"], SUCCESS, fin=True)
        line._writer.transport.set_write_buffer_limits(0)
        await line._writer.drain()
        await line.close()

    async with server(serve) as url:
        remote = await open_remote(url, IN)
        for _ in range(200):
            await remote.write(b"y" * 100_000)  # the later ones fail: nobody is there any more
        said = await all_of(remote)
        assert sum(len(data) for _, data in said) == 20_000
        assert remote.status == SUCCESS


async def test_an_end_without_a_status_is_an_error_that_says_so() -> None:
    async def serve(session: Session, _line: StreamLine) -> None:
        streams, _ = await streams_of(session, 3)
        await session.send(streams["stdout"], b"half")

    async with server(serve) as url:
        remote = await open_remote(url, NO_STDIN)
        output = remote.output()
        assert await anext(output) == (STDOUT, b"half")
        with pytest.raises(CriError, match=LOST):
            await anext(output)
        await remote.close()


async def test_a_status_that_never_comes_after_the_output_is_not_waited_for_for_ever() -> None:
    async def serve(session: Session, _line: StreamLine) -> None:
        streams, coming = await streams_of(session, 4)
        await session.send(streams["stdout"], b"all", fin=True)
        await session.send(streams["stderr"], b"", fin=True)
        async for _ in coming:
            pass

    async with server(serve) as url:
        remote = await open_remote(url, IN)
        remote._status_s = 0.05
        output = remote.output()
        assert await anext(output) == (STDOUT, b"all")
        with pytest.raises(CriError, match=SILENT):
            await anext(output)
        await remote.close()


async def test_a_server_that_speaks_something_else_is_an_error() -> None:
    async def serve(session: Session, line: StreamLine) -> None:
        await streams_of(session, 3)
        await line.write(b"HTTP/1.1 500 what\r\n\r\n" + bytes(100))

    async with server(serve) as url:
        remote = await open_remote(url, NO_STDIN)
        with pytest.raises(CriError):
            await all_of(remote)


async def test_a_server_that_takes_no_streams_is_an_error() -> None:
    async def serve(session: Session, line: StreamLine) -> None:
        await anext(session.frames())
        await line.write(frames.reset(1))

    async with server(serve) as url:
        with pytest.raises(CriError, match="does not take the streams"):
            await open_remote(url, NO_STDIN)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n404 page not found\n", "refused: 404 page not found"),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "refused: HTTP/1.1 403 Forbidden"),
        (SWITCH.replace(b"v4.", b"v1."), "speaks v1.channel.k8s.io, not v4.channel.k8s.io"),
        (b"x" * 70_000, "cannot be spoken to"),
        (b"", "cannot be spoken to"),
    ],
)
async def test_a_refusal_is_told_in_the_servers_words(answer: bytes, reason: str) -> None:
    async def serve(_session: Session, _line: StreamLine) -> None:
        raise AssertionError("nothing is to be served")

    async with server(serve, answer) as url:
        with pytest.raises(CriError, match=reason):
            await open_remote(url, NO_STDIN)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(CriError) as error:
        await open_remote("http://127.0.0.1:1/exec/x", NO_STDIN)
    assert error.value.code == "UNAVAILABLE"


async def test_a_server_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upgrade, "CONNECT_S", 0.05)

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        left.set()

    left = asyncio.Event()
    hanging = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = hanging.sockets[0].getsockname()[1]
    with pytest.raises(CriError) as error:
        await open_remote(f"http://127.0.0.1:{port}/exec/x", NO_STDIN)
    assert error.value.code == "DEADLINE_EXCEEDED"
    await left.wait()
    hanging.close()


def test_only_this_machines_own_certificates_go_unchecked() -> None:
    assert upgrade._tls("127.0.0.1").verify_mode is ssl.CERT_NONE
    assert upgrade._tls("::1").verify_mode is ssl.CERT_NONE
    assert upgrade._tls("runtime.test").verify_mode is ssl.CERT_REQUIRED


async def test_writes_of_several_tasks_stay_whole() -> None:
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    line, peer = SocketLine(ours), SocketLine(theirs)
    pieces = [bytes((number,)) * 300_000 for number in range(8)]
    writing = asyncio.gather(*(line.write(piece) for piece in pieces))
    got = [await peer.read_exactly(300_000) for _ in pieces]
    await writing
    assert sorted(got) == pieces
    await line.close()
    await peer.close()
