"""One attempt's log as one stream over all of its kept files, across rotations (case LOG-1).

Unlike the kubelet, which reads the current file alone, both the whole log and a tail are joined across rotated files.
"""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from io import BufferedIOBase
from pathlib import Path

from podherd.cri.log_lines import EVERYTHING, Joiner, Wanted
from podherd.server.log_files import CHUNK_BYTES, chunks, inode, open_log, rotated, tail_offset

POLL_S = 0.1
QUIET_POLLS = 2
"""A stopped container's log is over after this many polls without a byte: the runtime may still be copying."""


class LogReader:
    """Reads `<directory>/<attempt>.log` and what it was rotated to.

    Blocking calls: `more` at most one chunk long; a piece of `history` may take as long as its files are large, and
    belongs into a thread.
    """

    def __init__(self, directory: Path, attempt: int, wanted: Wanted = EVERYTHING) -> None:
        self._directory = directory
        self._attempt = attempt
        self._path = directory / f"{attempt}.log"
        self._file: BufferedIOBase | None = None
        self._joiner = Joiner(wanted=wanted)
        self._stamps: set[str] = set()
        self._backlog: Iterator[list[bytes]] = iter(())

    def close(self) -> None:
        """Close the current file."""
        if self._file:
            self._file.close()
            self._file = None

    def history(self, tail: int | None) -> Iterator[bytes]:
        """All that is written by now, or its last `tail` lines; empty pieces are pauses between chunks."""
        self._file = self._open_current()
        rotated_away = self._kept()
        self._stamps, kept = set(rotated_away), list(rotated_away.values())
        end = os.fstat(self._file.fileno()).st_size if self._file else 0
        if tail is None:
            yield from self._pieces(self._joiner, kept, 0, end, 0)
            return
        kept, first_offset = self._tail_files(kept, tail)
        total = 0
        for lines in self._lines(Joiner(), kept, first_offset, end):
            total += len(lines)
            yield b""
        yield from self._pieces(self._joiner, kept, first_offset, end, max(0, total - tail))

    def more(self) -> bytes | None:
        """What was written since, about a chunk (empty: only parts of a line); None when there is nothing new now."""
        for lines in self._backlog:
            return b"".join(lines)
        self._file = self._file or self._open_current()
        if data := self._read():
            return b"".join(self._joiner.feed(data))
        if not self._was_rotated():
            return None
        # Written between our read and the rotation: the held file is read to its very end before it is left.
        if data := self._read():
            return b"".join(self._joiner.feed(data))
        self._next_file()
        return b""

    def finish(self) -> bytes:
        """The unfinished last line, if the container left one."""
        return b"".join(self._joiner.finish())

    def _read(self) -> bytes:
        return self._file.read(CHUNK_BYTES) if self._file else b""

    def _open_current(self) -> BufferedIOBase | None:
        try:
            return self._path.open("rb")
        except FileNotFoundError:
            return None

    def _kept(self) -> dict[str, Path]:
        """Rotated files by stamp, oldest first, without the one that is held open as the current."""
        current = os.fstat(self._file.fileno()).st_ino if self._file else -1
        kept = rotated(self._directory, self._attempt)
        return {stamp: path for stamp, path in kept.items() if inode(path) != current}

    def _tail_files(self, kept: list[Path], tail: int) -> tuple[list[Path], int]:
        """The rotated files that the tail needs, and the offset to begin at in the first file of all."""
        missing, offset = tail, 0
        if self._file:
            offset, found = tail_offset(self._file, tail)
            missing -= found
        first = len(kept)
        while missing >= 0 and first > 0:
            first -= 1
            with suppress(FileNotFoundError), open_log(kept[first]) as file:
                offset, found = tail_offset(file, missing)
                missing -= found
        return kept[first:], offset

    def _pieces(self, joiner: Joiner, kept: list[Path], offset: int, end: int, skip: int) -> Iterator[bytes]:
        """Output lines of the kept files and of the current one up to `end`, without the first `skip` lines."""
        for lines in self._lines(joiner, kept, offset, end):
            dropped = min(skip, len(lines))
            skip -= dropped
            yield b"".join(lines[dropped:])

    def _lines(self, joiner: Joiner, kept: list[Path], offset: int, end: int) -> Iterator[list[bytes]]:
        if kept:
            yield from self._whole_files(joiner, kept, offset)
            offset = 0
        if self._file:
            self._file.seek(offset)
            while (left := end - self._file.tell()) > 0 and (data := self._file.read(min(CHUNK_BYTES, left))):
                yield joiner.feed(data)

    @staticmethod
    def _whole_files(joiner: Joiner, paths: list[Path], offset: int = 0) -> Iterator[list[bytes]]:
        for path in paths:
            with suppress(FileNotFoundError), open_log(path) as file:  # pruned since it was listed
                file.seek(offset)
                for data in chunks(file):
                    yield joiner.feed(data)
            yield joiner.end_file()
            offset = 0

    def _was_rotated(self) -> bool:
        """Another file stands under the name, so the runtime writes there; or ours was cut short in place."""
        if self._file is None:
            return False
        held = os.fstat(self._file.fileno())
        if held.st_size < self._file.tell():
            self._file.seek(0)
            return False
        return inode(self._path) not in (-1, held.st_ino)

    def _next_file(self) -> None:
        """Leave the held file for the ones after it: first any that was rotated away unseen, then the current."""
        self.close()
        self._file = self._open_current()
        kept = self._kept()
        fresh = [path for stamp, path in kept.items() if stamp not in self._stamps]
        self._stamps = set(kept)
        # The oldest of the fresh ones is the file that was held.
        self._backlog = itertools.chain([self._joiner.end_file()], self._whole_files(self._joiner, fresh[1:]))


async def stream(
    reader: LogReader, tail: int | None, follow: bool, alive: Callable[[], bool], poll_s: float = POLL_S
) -> AsyncGenerator[bytes, None]:
    """The log's bytes; with `follow` until `alive` says no and nothing more comes. Never more than a chunk ahead."""
    try:
        pieces = reader.history(tail)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            if piece:
                yield piece
        quiet = 0
        while follow and quiet < QUIET_POLLS:
            over = not alive()
            data = reader.more()
            if data:
                yield data
            quiet = quiet + over if data is None else 0
            await asyncio.sleep(poll_s if data is None else 0)
        if rest := reader.finish():
            yield rest
    finally:
        reader.close()
