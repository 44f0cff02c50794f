"""Limits of pulls that the shards of a node keep together, though they do not speak: files under `<root>/pulls`.

A place is a file under a lock, which the kernel takes back from a process that dies. The rate's bucket is a file that
is read and written under one. Where files cannot be had, each shard keeps the limits by itself.
"""

import asyncio
import fcntl
import os
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

POLL_S = 0.2
"""A shard that waits for another's pull asks this often whether it has ended."""
TRIES = 200
"""So often another's hold of the bucket, of some microseconds, is waited for."""
_BUCKET = struct.Struct("<dd")
_NO_LOCK = -1


class Rate:
    """A bucket of `burst` tokens that refills by `qps` a second; qps 0 is no limit."""

    def __init__(self, qps: float, burst: int, clock: Callable[[], float]) -> None:
        self._qps = qps
        self._burst = float(max(1, burst))
        self._clock = clock
        self._tokens = self._burst
        self._at = clock()

    def take(self) -> bool:
        """Whether one more may begin now."""
        if self._qps <= 0:
            return True
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._qps)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class SharedRate(Rate):
    """A bucket that all processes with the same file take from."""

    def __init__(self, file: Path, qps: float, burst: int, clock: Callable[[], float]) -> None:
        super().__init__(qps, burst, clock)
        self._file = file

    def take(self) -> bool:
        """Whether one more may begin now, on the whole node."""
        if self._qps <= 0 or (fd := _locked(self._file, TRIES)) in (None, _NO_LOCK):
            return super().take()
        try:
            return self._take_from(fd)
        finally:
            os.close(fd)

    def _take_from(self, fd: int) -> bool:
        state = os.pread(fd, _BUCKET.size, 0)
        if len(state) == _BUCKET.size:
            self._tokens, self._at = _BUCKET.unpack(state)
        taken = super().take()
        os.pwrite(fd, _BUCKET.pack(self._tokens, self._at), 0)
        return taken


class Places:
    """So many pulls at once, by all processes with the same directory."""

    def __init__(self, directory: Path, count: int) -> None:
        self._files = [directory / f"place-{n}" for n in range(max(1, count))]

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a place, waiting for it as long as it takes."""
        while (fd := self._free()) is None:  # noqa: ASYNC110 - the kernel tells nobody that a lock is free
            await asyncio.sleep(POLL_S)
        try:
            yield
        finally:
            if fd != _NO_LOCK:
                os.close(fd)

    def _free(self) -> int | None:
        return next((fd for file in self._files if (fd := _locked(file)) is not None), None)


def _locked(file: Path, tries: int = 1) -> int | None:
    """A descriptor whose closing ends the lock; None while another has it, _NO_LOCK where there can be none."""
    fd = _NO_LOCK
    try:
        fd = _open(file)
        for _ in range(tries):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            return fd
    except OSError:
        return _closed(fd, _NO_LOCK)
    return _closed(fd, None)


def _open(file: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(file, flags, 0o600)
    except FileNotFoundError:
        file.parent.mkdir(0o750, parents=True, exist_ok=True)
        return os.open(file, flags, 0o600)


def _closed(fd: int, answer: int | None) -> int | None:
    if fd != _NO_LOCK:
        os.close(fd)
    return answer
