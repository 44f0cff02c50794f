"""The files of one actor's journal: `<life>-<number>.mp`, in order of their names, of a bounded size together."""

import os
from pathlib import Path

SUFFIX = ".mp"
PARTS = 4
"""A file holds this part of the whole: so much of the past is lost when the oldest gives way."""
MOST_FILES = 64
DIR_MODE, FILE_MODE = 0o700, 0o600
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


def files(directory: Path) -> list[Path]:
    """The journal's files, the oldest first. Raises OSError."""
    return sorted(path for path in directory.iterdir() if path.suffix == SUFFIX)


def new_life(directory: Path, now: float) -> int:
    """A number for an actor that starts now: epoch milliseconds, later than every earlier life's. Raises OSError."""
    earlier = [int(word) for path in files(directory) if (word := path.name.partition("-")[0]).isdigit()]
    return max(round(now * 1000), *(each + 1 for each in earlier), 0)


class Segments:
    """Opens file after file of one life; the oldest of all lives go when all together are too large."""

    def __init__(self, directory: Path, life: int, most_bytes: int) -> None:
        self._directory = directory
        self._life = life
        self._most_bytes = most_bytes
        self._number = 0
        self._file: int | None = None
        self._others_bytes = 0
        self.size_bytes = 0

    @property
    def part_bytes(self) -> int:
        """How large one file may become."""
        return self._most_bytes // PARTS

    def next(self) -> None:
        """Go on in a new file. Raises OSError."""
        self.close()
        path = self._directory / f"{self._life:015d}-{self._number:05d}{SUFFIX}"
        self._file = os.open(path, _FLAGS, FILE_MODE)
        self._number += 1
        self.size_bytes = 0
        self._make_room(MOST_FILES)

    def write(self, data: bytes) -> None:
        """Append. Raises OSError; what was written of `data` then is a torn tail."""
        if self._file is None:
            self.next()
        assert self._file is not None
        rest = memoryview(data)
        while rest:
            written = os.write(self._file, rest)
            self.size_bytes += written
            rest = rest[written:]
        if self._others_bytes + self.size_bytes > self._most_bytes:
            self._make_room(MOST_FILES)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _make_room(self, most_files: int) -> None:
        """Remove the oldest files until the others fit beside the one that is written."""
        others = [(path, path.stat().st_size) for path in files(self._directory)[:-1]]
        self._others_bytes = sum(size for _, size in others)
        for path, size in others:
            full = self._others_bytes + self.size_bytes > self._most_bytes - self.part_bytes // PARTS
            if not full and len(others) < most_files:
                break
            path.unlink(missing_ok=True)
            self._others_bytes -= size
            others = others[1:]
