"""HTTP/2 frames and header blocks as bytes (RFC 9113 sections 4 and 6, RFC 7541, gRPC over HTTP/2). Pure."""

from struct import Struct

from hpack import Decoder
from hpack.table import HeaderTable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 4, 5
"""Identifiers of the settings that are heeded."""
STATUS_NUMBERS = {
    name: number
    for number, name in enumerate(
        (
            "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
            "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
            "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
        )
    )
}  # fmt: skip
HEAD = Struct(">HBBBL")
"""Length (high 16 bits, low 8), type, flags, stream."""
_U32 = Struct(">L")
_SETTING = Struct(">HL")
_TYPE = b"\x10application/grpc"
_TYPE_LITERAL = b"\x0f\x10" + _TYPE
_TYPE_LEARNED = b"\x5f" + _TYPE
_OK_LITERAL = b"\x00\x0bgrpc-status\x010"
_OK_LEARNED = b"\x40\x0bgrpc-status\x010"


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One whole frame."""
    return HEAD.pack(len(payload) >> 8, len(payload) & 0xFF, kind, flags, stream) + payload


def settings(*pairs: tuple[int, int]) -> bytes:
    """A SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*pair) for pair in pairs))


def settings_in(payload: bytes) -> list[tuple[int, int]]:
    """Identifier and value of each setting; a rest that is no setting is left out."""
    return list(_SETTING.iter_unpack(payload[: len(payload) // 6 * 6]))


def window_update(stream: int, more: int) -> bytes:
    """A WINDOW_UPDATE frame."""
    return frame(WINDOW_UPDATE, 0, stream, _U32.pack(more))


def number_in(payload: bytes) -> int:
    """The 31-bit number that WINDOW_UPDATE and others begin with; 0 when it is cut off."""
    return int(_U32.unpack_from(payload)[0]) & 0x7FFFFFFF if len(payload) >= 4 else 0


def bare(flags: int, payload: bytes) -> bytes:
    """The payload of DATA or HEADERS without padding and priority."""
    start, end = 0, len(payload)
    if flags & PADDED:
        start, end = 1, end - payload[0]
    if flags & WITH_PRIORITY:
        start += 5
    return payload[start:end]


class ResponseHeaders:
    """The header blocks of one connection's responses. The two that always recur are learned by the client's dynamic
    table at first use, one byte each from then on; `learn` False: its table is too small for that."""

    def __init__(self) -> None:
        self.learn = True
        self._type_known = False
        self._ok_known = False

    def head(self) -> bytes:
        """`:status: 200` and the content type."""
        if not self.learn:
            return b"\x88" + _TYPE_LITERAL
        if not self._type_known:
            self._type_known = True
            return b"\x88" + _TYPE_LEARNED
        return b"\x88\xbf" if self._ok_known else b"\x88\xbe"

    def ok(self) -> bytes:
        """The trailers of success. Only after `head`."""
        if not self.learn:
            return _OK_LITERAL
        if not self._ok_known:
            self._ok_known = True
            return _OK_LEARNED
        return b"\xbe"

    def failure(self, status: int, message: str) -> bytes:
        """The trailers of an error."""
        number, text = b"%d" % status, _percent(message)
        return b"\x00\x0bgrpc-status" + _length(number) + number + b"\x00\x0cgrpc-message" + _length(text) + text


def _percent(message: str) -> bytes:
    """As gRPC wants a message: all but printable ASCII, and the percent sign, as %XX."""
    return b"".join(b"%c" % c if 0x20 <= c < 0x7F and c != 0x25 else b"%%%02X" % c for c in message.encode())


def _length(value: bytes) -> bytes:
    size = len(value)
    if size < 127:
        return bytes((size,))
    out, size = bytearray((127,)), size - 127
    while size >= 128:
        out.append(size & 0x7F | 0x80)
        size >>= 7
    out.append(size)
    return bytes(out)


class _Table(HeaderTable):
    """The client's dynamic table, counting its changes."""

    changes = 0

    def add(self, name: bytes, value: bytes) -> None:
        """An entry more."""
        self.changes += 1
        super().add(name, value)


class RequestPaths:
    """The `:path` of request header blocks. A block that changed no table means the same again until the table
    changes, so the blocks of a busy client are decoded once."""

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._table = _Table()
        self._decoder.header_table = self._table
        self._known: dict[bytes, bytes] = {}

    def path(self, block: bytes) -> bytes:
        """Raises hpack.HPACKError for a broken block: the connection is lost then."""
        if (path := self._known.get(block)) is not None:
            return path
        changes = self._table.changes
        path = b""
        for name, value in self._decoder.decode(block, raw=True):
            if name == b":path":
                path = bytes(value)
        if self._table.changes != changes or (block and 0x20 <= block[0] < 0x40):
            self._known.clear()
        else:
            self._known[block] = path
        return path
