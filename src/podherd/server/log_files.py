"""The log files of one container: `<attempt>.log`, rotated `<attempt>.log.<stamp>[.gz]` (kubelet behaviour, 3.10)."""

import gzip
import os
import re
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

from podherd.model.log_names import attempt_of

CHUNK_BYTES = 64 * 1024
SLACK_BYTES = 256 * 1024
"""Read this much more before a tail, so that partial entries of its first line are found."""

_FULL = re.compile(rb'^(?:\d{4}-\d\d-\d\dT\S+ std(?:out|err) F|\{"log")', re.MULTILINE)


def attempts(directory: Path) -> list[int]:
    """The attempts that have a log, oldest first; also those of which only rotated files are left."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return sorted({attempt for name in names if (attempt := attempt_of(name)) is not None})


def rotated(directory: Path, attempt: int) -> dict[str, Path]:
    """The rotated files of an attempt by their stamp, oldest first; a plain file is preferred to its .gz twin."""
    prefix = f"{attempt}.log."
    found: dict[str, Path] = {}
    for name in sorted((n for n in os.listdir(directory) if n.startswith(prefix)), reverse=True):
        if not name.endswith(".tmp"):
            found[name.removeprefix(prefix).removesuffix(".gz")] = directory / name
    return dict(sorted(found.items()))


def open_log(path: Path) -> BufferedIOBase:
    """The file's text as bytes, gunzipped by its name; compressed since it was listed: its twin. Raises OSError."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    try:
        return path.open("rb")
    except FileNotFoundError:
        return gzip.open(f"{path}.gz", "rb")


def inode(path: Path) -> int:
    """The file's inode, -1 when it is gone."""
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return -1


def chunks(file: BufferedIOBase) -> Iterator[bytes]:
    """The rest of an open log, in pieces of CHUNK_BYTES."""
    while data := file.read(CHUNK_BYTES):
        yield data


def tail_offset(file: BufferedIOBase, lines: int) -> tuple[int, int]:
    """Where to begin reading for the last `lines` lines, and how many full entries stand after that point.

    The offset is a line's start, never too late but maybe too early. More than `lines` entries: this file is enough.
    """
    return _tail_forwards(file, lines) if isinstance(file, gzip.GzipFile) else _tail_backwards(file, lines)


def _tail_forwards(file: BufferedIOBase, lines: int) -> tuple[int, int]:
    """In one pass, as each step back in a compressed file decompresses it from its start."""
    marks: list[tuple[int, int]] = []
    at = 0
    for data in chunks(file):
        if (newline := data.find(b"\n")) >= 0:
            marks.append((at + newline + 1, len(_FULL.findall(data))))
        at += len(data)
    found, start = 0, at
    while marks and found <= lines:
        start, count = marks.pop()
        found += count
    while marks and marks[-1][0] > start - SLACK_BYTES:
        marks.pop()
    return (marks[-1][0] if marks else 0), found


def _tail_backwards(file: BufferedIOBase, lines: int) -> tuple[int, int]:
    at, found = file.seek(0, os.SEEK_END), 0
    while at > 0 and found <= lines:
        size = min(CHUNK_BYTES, at)
        at -= size
        file.seek(at)
        found += len(_FULL.findall(file.read(size)))
    at = max(0, at - SLACK_BYTES)
    file.seek(at)
    if at:
        file.readline()
    return file.tell(), found
