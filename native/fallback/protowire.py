"""Reading the protobuf wire format in plain Python (protobuf encoding specification), within the enclosing message."""

from podherd.native.changes import MAX_GROUP_DEPTH

ENDS, LONG_NUMBER, FIELD_NUMBER, WIRE_TYPE, GROUP_END, DEPTH = range(6)

VARINT = 0
FIXED64 = 1
SPAN = 2
GROUP = 3
END_GROUP = 4
FIXED32 = 5


class BadWireError(Exception):
    """The field that begins at byte `at` cannot be read; `why` indexes `changes.WHY`. Never leaves the table."""

    def __init__(self, at: int, why: int) -> None:
        super().__init__(at, why)
        self.at = at
        self.why = why


def varint(data: bytes, pos: int, end: int, start: int) -> tuple[int, int]:
    """The number at `pos` and the place after it; `start` is where its field begins, for the error."""
    value = shift = 0
    while pos < end:
        byte = data[pos]
        pos += 1
        if shift == 63 and byte > 1:
            raise BadWireError(start, LONG_NUMBER)
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
        shift += 7
    raise BadWireError(start, ENDS)


def field(data: bytes, start: int, end: int, depth: int = 0) -> tuple[int, int, int]:
    """The field at `start`: its tag, and where its payload begins and ends (the next field begins there).

    The payload of a span is its bytes without the length; of a varint, its varint.
    """
    tag, pos = varint(data, start, end, start)
    if not 8 <= tag <= 0xFFFFFFFF:
        raise BadWireError(start, FIELD_NUMBER)
    wire = tag & 7
    if wire == SPAN:
        size, pos = varint(data, pos, end, start)
        if size > end - pos:
            raise BadWireError(start, ENDS)
        return tag, pos, pos + size
    if wire == VARINT:
        return tag, pos, varint(data, pos, end, start)[1]
    return tag, pos, _rare(data, start, pos, end, tag, depth)


def _rare(data: bytes, start: int, pos: int, end: int, tag: int, depth: int) -> int:
    """Where a value of the other wire types ends."""
    wire = tag & 7
    if wire in (FIXED64, FIXED32):
        stop = pos + (8 if wire == FIXED64 else 4)
        if stop > end:
            raise BadWireError(start, ENDS)
        return stop
    if wire != GROUP:
        raise BadWireError(start, GROUP_END if wire == END_GROUP else WIRE_TYPE)
    if depth == MAX_GROUP_DEPTH:
        raise BadWireError(start, DEPTH)
    return _group_end(data, pos, end, tag, depth + 1)


def _group_end(data: bytes, pos: int, end: int, begin: int, depth: int) -> int:
    """The place after the end tag of the group that `begin` opened."""
    while True:
        tag, after = varint(data, pos, end, pos)
        if tag == begin + 1:
            return after
        pos = field(data, pos, end, depth)[2]
