"""Protobuf fields written by hand, for the few that change between two replies (varint and length-delimited)."""


def varint(number: int) -> bytes:
    """The base-128 form of 0 <= number < 2**64."""
    if number < 0x80:
        return bytes((number,))
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(tag: bytes, value: int) -> bytes:
    """A varint field; nothing for 0, as proto3 leaves a default out. Negative int32 and int64 take ten bytes."""
    return tag + varint(value & 0xFFFFFFFFFFFFFFFF) if value else b""


def block(tag: bytes, body: bytes) -> bytes:
    """A length-delimited field (message, bytes), written even when empty."""
    return tag + varint(len(body)) + body


def text(tag: bytes, value: str) -> bytes:
    """A string field; nothing for the empty string."""
    return block(tag, value.encode()) if value else b""
