"""A connection fed by hand: cuts anywhere, small windows, resets, rubbish."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from podherd.hollow import frames
from podherd.hollow.http2 import Connection, Reply, Routes
from podherd.hollow.refusal import RefusedError


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.gone = ""

    def write(self, data: Any) -> None:
        self.written += data

    def close(self) -> None:
        self.gone = "closed"

    def abort(self) -> None:
        self.gone = "aborted"


class Peer:
    """A client of one connection: what it sends, and what it has read by stream."""

    def __init__(self, routes: Routes) -> None:
        self.wire = Wire()
        self.live: set[Connection] = set()
        self.connection = Connection(routes, self.live)
        self.connection.connection_made(self.wire)
        self._encoder = Encoder()

    def request(self, stream: int, path: str, message: bytes = b"ask") -> bytes:
        """The frames of one call."""
        block = self._encoder.encode([(":method", "POST"), (":path", path)])
        body = b"\0" + len(message).to_bytes(4) + message
        return frames.frame(frames.HEADERS, frames.END_HEADERS, stream, block) + frames.frame(
            frames.DATA, frames.END_STREAM, stream, body
        )

    def greet(self, *settings: tuple[int, int]) -> bytes:
        """The preface."""
        return frames.PREFACE + frames.settings(*settings)

    def feed(self, data: bytes) -> None:
        """Let it arrive."""
        self.connection.data_received(data)

    def read(self) -> dict[int, tuple[bytes, dict[str, str]]]:
        """By stream: the message bytes (with prefix) and the last headers."""
        decoder, found, data = Decoder(), {}, bytes(self.wire.written)
        while data:
            size = int.from_bytes(data[:3])
            kind, stream, payload = data[3], int.from_bytes(data[5:9]), data[9 : 9 + size]
            body, last = found.get(stream, (b"", {}))
            if kind == frames.DATA:
                assert size <= 16384
                body += payload
            if kind == frames.HEADERS:
                last = {**last, **{str(name): str(value) for name, value in decoder.decode(payload)}}
            found[stream] = (body, last)
            data = data[9 + size :]
        return found


def _routes(call: Callable[[bytes], Reply | Awaitable[Reply]]) -> Routes:
    return {b"/s/M": (call, None)}


@given(st.data())
def test_calls_are_answered_however_the_bytes_are_cut(data: st.DataObject) -> None:
    peer = Peer(_routes(lambda request: b"re:" + request))
    sent = peer.greet() + peer.request(1, "/s/M", b"a") + peer.request(3, "/s/M", b"b" * 300)
    while sent:
        cut = data.draw(st.integers(1, len(sent)))
        peer.feed(sent[:cut])
        sent = sent[cut:]
    read = peer.read()
    assert read[1][0] == b"\0\0\0\0\x04re:a"
    assert read[3][0][5:] == b"re:" + b"b" * 300
    assert read[3][1]["grpc-status"] == "0"


@given(st.lists(st.integers(1, 5000), max_size=8), st.booleans())
def test_a_reply_waits_for_both_windows_and_arrives_whole(grants: list[int], in_pieces: bool) -> None:
    reply: Reply = tuple([b"x" * 1000] * 50) if in_pieces else b"x" * 50_000
    peer = Peer(_routes(lambda _request: reply))
    peer.feed(peer.greet((frames.INITIAL_WINDOW_SIZE, 100)) + peer.request(1, "/s/M"))
    granted = 100
    assert len(peer.read()[1][0]) == granted
    for grant in grants:
        peer.feed(frames.window_update(1, grant))
        granted += grant
        assert len(peer.read()[1][0]) == min(granted, 50_005)
    assert "grpc-status" not in peer.read()[1][1] or granted >= 50_005
    peer.feed(frames.window_update(1, 60_000))
    body, last = peer.read()[1]
    assert (body, last["grpc-status"]) == (b"\0" + (50_000).to_bytes(4) + b"x" * 50_000, "0")


def test_one_blocked_stream_does_not_hold_another_and_header_blocks_stay_readable() -> None:
    replies = {b"big": b"x" * 40_000, b"small": b"y"}
    peer = Peer(_routes(lambda request: replies[request]))
    peer.feed(peer.greet() + frames.window_update(0, 1 << 20))
    peer.feed(frames.settings((frames.INITIAL_WINDOW_SIZE, 1000)))
    peer.feed(peer.request(1, "/s/M", b"big") + peer.request(3, "/s/M", b"small") + peer.request(5, "/s/N"))
    assert peer.read()[3] == (
        b"\0\0\0\0\x01y",
        {":status": "200", "content-type": "application/grpc", "grpc-status": "0"},
    )
    assert peer.read()[5][1]["grpc-status"] == "12"
    peer.feed(frames.settings((frames.INITIAL_WINDOW_SIZE, 100_000)) + peer.request(7, "/s/M", b"small"))
    assert len(peer.read()[1][0]) == 40_005
    assert peer.read()[1][1]["grpc-status"] == peer.read()[7][1]["grpc-status"] == "0"


def test_a_refusal_carries_code_and_text_and_a_fault_of_the_program_is_internal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def call(request: bytes) -> bytes:
        if request == b"refuse":
            raise RefusedError("NOT_FOUND", "no such thing: 100%")
        raise KeyError("oops")

    peer = Peer(_routes(call))
    peer.feed(peer.greet() + peer.request(1, "/s/M", b"refuse") + peer.request(3, "/s/M", b"break"))
    read = peer.read()
    assert (read[1][1]["grpc-status"], read[1][1]["grpc-message"]) == ("5", "no such thing: 100%25")
    assert (read[3][1]["grpc-status"], read[3][1]["grpc-message"]) == ("13", "KeyError: 'oops'")
    assert "KeyError" in capsys.readouterr().err


async def test_a_reset_or_a_lost_connection_gives_up_the_waiting_call() -> None:
    given_up: list[bytes] = []

    async def wait(request: bytes) -> bytes:
        try:
            await asyncio.Event().wait()
        finally:
            given_up.append(request)
        return b""

    peer = Peer(_routes(wait))
    peer.feed(peer.greet() + peer.request(1, "/s/M", b"a") + peer.request(3, "/s/M", b"b"))
    await asyncio.sleep(0)
    peer.feed(frames.frame(frames.RST_STREAM, 0, 1, b"\0\0\0\x08"))
    await asyncio.sleep(0)
    assert given_up == [b"a"]
    peer.connection.connection_lost(None)
    await asyncio.sleep(0)
    assert (given_up, peer.live) == ([b"a", b"b"], set())


async def test_a_stream_sends_each_message_and_ends_with_its_outcome() -> None:
    async def stream(_request: bytes) -> AsyncIterator[bytes]:
        yield b"one"
        yield b"two"
        raise RefusedError("UNAVAILABLE", "over")

    async def short(_request: bytes) -> AsyncIterator[bytes]:
        yield b"one"

    peer = Peer({b"/s/S": (None, stream), b"/s/T": (None, short)})
    peer.feed(peer.greet() + peer.request(1, "/s/S") + peer.request(3, "/s/T"))
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=5)
    assert peer.read()[1][0] == b"\0\0\0\0\x03one\0\0\0\0\x03two"
    assert (peer.read()[1][1]["grpc-status"], peer.read()[3][1]["grpc-status"]) == ("14", "0")


def test_headers_in_several_frames_and_padded_data_are_read() -> None:
    peer = Peer(_routes(lambda request: request))
    block = Encoder().encode([(":path", "/s/M"), ("x", "y" * 50)])
    body = b"\x03" + b"\0\0\0\0\x02hi" + b"\0\0\0"
    peer.feed(
        peer.greet()
        + frames.frame(frames.HEADERS, 0, 1, block[:9])
        + frames.frame(frames.CONTINUATION, 0, 1, block[9:20])
        + frames.frame(frames.CONTINUATION, frames.END_HEADERS, 1, block[20:])
        + frames.frame(frames.DATA, frames.END_STREAM | frames.PADDED, 1, body)
    )
    assert peer.read()[1][0] == b"\0\0\0\0\x02hi"


def test_a_ping_is_answered_with_its_bytes() -> None:
    peer = Peer({})
    peer.feed(peer.greet())
    before = len(peer.wire.written)
    peer.feed(frames.frame(frames.PING, 0, 0, b"12345678"))
    assert bytes(peer.wire.written[before:]) == frames.frame(frames.PING, frames.ACK, 0, b"12345678")


@pytest.mark.parametrize("message", [b"", b"\0\0\0\0\x09short", b"\x01\0\0\0\x01z"])
def test_what_is_not_one_uncompressed_message_is_internal(message: bytes) -> None:
    peer = Peer(_routes(lambda request: request))
    block = Encoder().encode([(":path", "/s/M")])
    peer.feed(
        peer.greet()
        + frames.frame(frames.HEADERS, frames.END_HEADERS, 1, block)
        + frames.frame(frames.DATA, frames.END_STREAM, 1, message)
    )
    assert peer.read()[1][1]["grpc-status"] == "13"


@pytest.mark.parametrize(
    "rubbish",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        frames.PREFACE + frames.frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff\xff\xff\xff\xff"),
        frames.PREFACE + frames.frame(frames.CONTINUATION, frames.END_HEADERS, 1, b"x"),
        frames.PREFACE + frames.HEAD.pack(0xFFFF, 0xFF, frames.DATA, 0, 1),
        frames.PREFACE
        + frames.frame(frames.HEADERS, frames.END_HEADERS, 1, Encoder().encode([(":path", "/s/M")]))
        + frames.frame(frames.DATA, frames.PADDED, 1, b""),
    ],
)
def test_rubbish_ends_the_connection(rubbish: bytes) -> None:
    peer = Peer(_routes(lambda request: request))
    peer.feed(rubbish)
    assert peer.wire.gone == "aborted"


def test_close_says_goaway() -> None:
    peer = Peer({})
    peer.connection.close()
    assert peer.wire.written[-17:][3] == frames.GOAWAY
    assert peer.wire.gone == "closed"
