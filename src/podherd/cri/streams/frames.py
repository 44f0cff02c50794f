"""SPDY/3.1 frames as bytes, both ways (SPDY protocol draft 3.1, section 2.2 and on). No I/O.

A data frame is `stream id (31 bits), flags (8), length (24)` and its bytes; a control frame `0x8003, type (16),
flags (8), length (24)` and its body. Header blocks go through one zlib stream for the life of a connection.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from podherd.cri.streams.dictionary import DICTIONARY

HEAD_BYTES = 8
FIN = 0x01
CANCEL = 5
"""Status of a RST_STREAM from the side that wants no more of the stream."""
HEADERS_LIMIT_BYTES = 64 * 1024

_CONTROL = 0x8003
_ID = 0x7FFFFFFF


class Kind:
    """Types of frames that are made or read; DATA stands for those that have none."""

    DATA, SYN_STREAM, SYN_REPLY, RST_STREAM, PING, HEADERS = 0, 1, 2, 3, 6, 8


class Head(NamedTuple):
    """The first eight bytes of a frame. kind: DATA, then `stream` is whose."""

    kind: int
    stream: int
    flags: int
    length: int


class Data(NamedTuple):
    """Bytes of a stream; fin: the sender's last ones."""

    stream: int
    data: bytes
    fin: bool


class Opened(NamedTuple):
    """The peer opened a stream (SYN_STREAM)."""

    stream: int
    headers: dict[str, str]
    fin: bool


class Replied(NamedTuple):
    """The peer accepted a stream (SYN_REPLY)."""

    stream: int
    fin: bool


class Reset(NamedTuple):
    """The peer gave a stream up (RST_STREAM)."""

    stream: int
    status: int


class Pinged(NamedTuple):
    """A PING to be sent back as it is, if the id is one of the peer's."""

    id: int


class Other(NamedTuple):
    """A frame that needs no answer: settings, windows, late headers, a peer that takes no new streams."""

    kind: int


Frame = Data | Opened | Replied | Reset | Pinged | Other


def head(first: bytes) -> Head:
    """The head of a frame. Raises ValueError for another version of SPDY."""
    word, rest = struct.unpack(">II", first)
    flags, length = rest >> 24, rest & 0xFFFFFF
    if not word >> 31:
        return Head(Kind.DATA, word, flags, length)
    if word >> 16 != _CONTROL:
        raise ValueError(f"not a SPDY/3 frame: {first.hex()}")
    return Head(word & 0xFFFF, 0, flags, length)


def data(stream: int, body: bytes, fin: bool = False) -> bytes:
    """A data frame."""
    return struct.pack(">II", stream, (FIN if fin else 0) << 24 | len(body)) + body


def reset(stream: int, status: int = CANCEL) -> bytes:
    """A RST_STREAM."""
    return _control(Kind.RST_STREAM, 0, struct.pack(">II", stream, status))


def ping(number: int) -> bytes:
    """A PING."""
    return _control(Kind.PING, 0, struct.pack(">I", number))


def _control(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack(">II", _CONTROL << 16 | kind, flags << 24 | len(body)) + body


class Headers:
    """The two zlib streams of one connection: every header block sent and received, in order."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(zdict=DICTIONARY)
        self._unpacker = zlib.decompressobj(zdict=DICTIONARY)

    def syn_stream(self, stream: int, headers: Mapping[str, str], fin: bool = False) -> bytes:
        """Opens a stream; header names in small letters, as SPDY wants them."""
        body = struct.pack(">IIH", stream, 0, 0) + self._pack(headers)
        return _control(Kind.SYN_STREAM, FIN if fin else 0, body)

    def syn_reply(self, stream: int) -> bytes:
        """Accepts a stream."""
        return _control(Kind.SYN_REPLY, 0, struct.pack(">I", stream) + self._pack({}))

    def frame(self, first: Head, body: bytes) -> Frame:
        """The frame of a head and its body. Raises ValueError when it cannot be read."""
        try:
            return self._frame(first, body)
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise ValueError(f"a SPDY frame of type {first.kind} cannot be read: {error}") from error

    def _frame(self, first: Head, body: bytes) -> Frame:
        fin = bool(first.flags & FIN)
        match first.kind:
            case Kind.DATA:
                return Data(first.stream, body, fin)
            case Kind.SYN_STREAM:
                return Opened(_id(body), self._unpack(body[10:]), fin)
            case Kind.SYN_REPLY:
                self._unpack(body[4:])
                return Replied(_id(body), fin)
            case Kind.RST_STREAM:
                return Reset(_id(body), struct.unpack_from(">I", body, 4)[0])
            case Kind.PING:
                return Pinged(struct.unpack_from(">I", body)[0])
            case Kind.HEADERS:
                self._unpack(body[4:])
        return Other(first.kind)

    def _pack(self, headers: Mapping[str, str]) -> bytes:
        words = [part.encode() for pair in headers.items() for part in pair]
        block = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(word)) + word for word in words)
        return self._packer.compress(block) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    def _unpack(self, packed: bytes) -> dict[str, str]:
        block = self._unpacker.decompress(packed, HEADERS_LIMIT_BYTES)
        if self._unpacker.unconsumed_tail:
            raise ValueError(f"SPDY headers are larger than {HEADERS_LIMIT_BYTES} bytes")
        words, at = [], 4
        for _ in range(2 * struct.unpack_from(">I", block)[0]):
            end = at + 4 + struct.unpack_from(">I", block, at)[0]
            words.append(block[at + 4 : end].decode())
            at = end
        return dict(zip(words[::2], words[1::2], strict=True))


def _id(body: bytes) -> int:
    number: int = struct.unpack_from(">I", body)[0]
    return number & _ID
