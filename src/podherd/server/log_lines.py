"""CRI log lines to what the container wrote (kubelet behaviour, section 3.10).

A line is `<RFC3339Nano> <stdout|stderr> <P|F> <text>`; the texts of P (partial) entries are joined, without a newline,
to the next F entry of the same stream. Docker's JSON lines are read too. Any other line is passed on as it stands.
"""

from typing import NamedTuple

import orjson

PARTIAL_LIMIT_BYTES = 1 << 20
"""A line longer than this is passed on in pieces, so that a container cannot fill the server's memory."""

_STREAMS = (b"stdout", b"stderr")


class Entry(NamedTuple):
    """One log line: its stream, whether more of the same output line follows, and the text."""

    stream: bytes
    partial: bool
    text: bytes


def parse(line: bytes) -> Entry:
    """One log line without its newline. Never fails: a line in no known format is a full stdout line."""
    parts = line.split(b" ", 3)
    if len(parts) >= 3 and parts[1] in _STREAMS:
        tag = parts[2].split(b":", 1)[0]
        if tag in (b"P", b"F"):
            return Entry(parts[1], tag == b"P", parts[3] if len(parts) == 4 else b"")
    return _docker(line) or Entry(b"stdout", False, line)


def _docker(line: bytes) -> Entry | None:
    if not line.startswith(b'{"log"'):
        return None
    try:
        value = orjson.loads(line)
        text: bytes = value["log"].encode()
        return Entry(str(value.get("stream", "stdout")).encode(), not text.endswith(b"\n"), text.removesuffix(b"\n"))
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        return None


class Joiner:
    """Bytes of log files in, the container's own output lines out; state spans chunks and files."""

    def __init__(self, limit_bytes: int = PARTIAL_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._torn = b""
        self._parts: dict[bytes, list[bytes]] = {}
        self._part_bytes: dict[bytes, int] = {}

    def feed(self, data: bytes) -> list[bytes]:
        """Output pieces that `data` completes, in order, each with its newline (but parts of an over-long line)."""
        *lines, self._torn = (self._torn + data).split(b"\n")
        if len(self._torn) > self._limit_bytes:
            lines.append(self._torn)
            self._torn = b""
        return [piece for line in lines if (piece := self._entry(parse(line)))]

    def end_file(self) -> list[bytes]:
        """The file is over: a last line without its newline counts as whole; partial entries wait for the next file."""
        torn, self._torn = self._torn, b""
        return [piece for piece in (self._entry(parse(torn)) if torn else b"",) if piece]

    def finish(self) -> list[bytes]:
        """The log is over: what is left, as the container wrote it, without a newline of ours."""
        left = self.end_file()
        left += [b"".join(parts) for parts in self._parts.values() if parts]
        self._parts.clear()
        return left

    def _entry(self, entry: Entry) -> bytes:
        parts = self._parts.pop(entry.stream, [])
        parts.append(entry.text)
        held = self._part_bytes.pop(entry.stream, 0) + len(entry.text)
        if not entry.partial:
            return b"".join(parts) + b"\n"
        if held > self._limit_bytes:
            return b"".join(parts)
        self._parts[entry.stream] = parts
        self._part_bytes[entry.stream] = held
        return b""
