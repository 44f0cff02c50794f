"""CRI log lines to what the container wrote (kubelet behaviour, section 3.10).

A line is `<RFC3339Nano> <stdout|stderr> <P|F> <text>`; the texts of P (partial) entries are joined, without a newline,
to the next F entry of the same stream. Docker's JSON lines are read too. Any other line is passed on as it stands.
"""

import re
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

PARTIAL_LIMIT_BYTES = 1 << 20
"""A line longer than this is passed on in pieces, so that a container cannot fill the server's memory."""

_STREAMS = (b"stdout", b"stderr")


_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\d*(Z|[+-]\d\d:\d\d)$")


class Entry(NamedTuple):
    """One log line: its stream, whether more of the same output line follows, the text, and when it was written."""

    stream: bytes
    partial: bool
    text: bytes
    stamp: bytes = b""
    """RFC 3339 as the runtime wrote it; empty where the line has none."""


def parse(line: bytes) -> Entry:
    """One log line without its newline. Never fails: a line in no known format is a full stdout line."""
    parts = line.split(b" ", 3)
    if len(parts) >= 3 and parts[1] in _STREAMS:
        tag = parts[2].split(b":", 1)[0]
        if tag in (b"P", b"F"):
            return Entry(parts[1], tag == b"P", parts[3] if len(parts) == 4 else b"", parts[0])
    return _docker(line) or Entry(b"stdout", False, line)


def _docker(line: bytes) -> Entry | None:
    if not line.startswith(b'{"log"'):
        return None
    try:
        value = orjson.loads(line)
        text: bytes = value["log"].encode()
        stream, stamp = str(value.get("stream", "stdout")).encode(), str(value.get("time", "")).encode()
        return Entry(stream, not text.endswith(b"\n"), text.removesuffix(b"\n"), stamp)
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        return None


def fixed(stamp: bytes) -> bytes:
    """A stamp with all nine digits of its nanoseconds, as the kubelet shows it; one of another form as it is."""
    found = _STAMP.match(stamp)
    return b"%s.%s%s" % (found[1], (found[2] or b"").ljust(9, b"0"), found[3]) if found else stamp


def seconds(stamp: bytes) -> float:
    """A stamp in seconds since the epoch, to the microsecond; infinity for one that cannot be read."""
    try:
        at = datetime.fromisoformat(stamp.decode())
    except ValueError:
        return float("inf")
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


class Wanted(NamedTuple):
    """Which lines a reader wants, and how.

    since: seconds since the epoch; lines that began before are left out, those without a time never are.
    timestamps: each line begins with the time of its first part.
    """

    since: float = 0.0
    timestamps: bool = False


EVERYTHING = Wanted()


class Joiner:
    """Bytes of log files in, the container's own output lines out; state spans chunks and files.

    A line that is not wanted comes out empty: so lines can be counted.
    """

    def __init__(self, limit_bytes: int = PARTIAL_LIMIT_BYTES, wanted: Wanted = EVERYTHING) -> None:
        self._limit_bytes = limit_bytes
        self._wanted = wanted
        self._torn = b""
        self._parts: dict[bytes, list[bytes]] = {}
        self._part_bytes: dict[bytes, int] = {}
        self._stamps: dict[bytes, bytes] = {}

    def feed(self, data: bytes) -> list[bytes]:
        """Output pieces that `data` completes, in order, each with its newline (but parts of an over-long line)."""
        *lines, self._torn = (self._torn + data).split(b"\n")
        if len(self._torn) > self._limit_bytes:
            lines.append(self._torn)
            self._torn = b""
        return [piece for line in lines if (piece := self._entry(parse(line))) is not None]

    def end_file(self) -> list[bytes]:
        """The file is over: a last line without its newline counts as whole; partial entries wait for the next file."""
        torn, self._torn = self._torn, b""
        return [piece for piece in (self._entry(parse(torn)) if torn else None,) if piece is not None]

    def finish(self) -> list[bytes]:
        """The log is over: what is left, as the container wrote it, without a newline of ours."""
        left = self.end_file()
        left += [self._shown(stream, b"".join(parts)) for stream, parts in self._parts.items() if parts]
        self._parts.clear()
        return left

    def _entry(self, entry: Entry) -> bytes | None:
        """The line that this entry completes, the piece of one that is too long, or None."""
        stream = entry.stream
        self._stamps.setdefault(stream, entry.stamp)
        parts = self._parts.pop(stream, [])
        parts.append(entry.text)
        held = self._part_bytes.pop(stream, 0) + len(entry.text)
        if not entry.partial:
            return self._shown(stream, b"".join(parts) + b"\n")
        if held > self._limit_bytes:
            return self._piece(stream, b"".join(parts))
        self._parts[stream] = parts
        self._part_bytes[stream] = held
        return None

    def _shown(self, stream: bytes, text: bytes) -> bytes:
        """The end of a line, in the form that is wanted."""
        text = self._piece(stream, text)
        del self._stamps[stream]
        return text

    def _piece(self, stream: bytes, text: bytes) -> bytes:
        stamp, wanted = self._stamps[stream], self._wanted
        if stamp is _TOLD:
            return text
        if wanted.since and (stamp is _LEFT_OUT or (stamp and seconds(stamp) < wanted.since)):
            self._stamps[stream] = _LEFT_OUT
            return b""
        self._stamps[stream] = _TOLD
        return fixed(stamp) + b" " + text if wanted.timestamps and stamp else text


_TOLD, _LEFT_OUT = b"(told)", b"(left out)"
"""In place of a stamp: the pieces of an over-long line before this one were passed on, or not wanted."""
