"""One deed at a time for a volume, over all shards: who stages it, and who takes it away, must not cross."""

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from hashlib import sha256

_LOOK_S = 0.02


@asynccontextmanager
async def locked(root: str, driver: str, handle: str) -> AsyncGenerator[None]:
    """Hold the volume's lock; the kernel drops that of a process that dies. Raises OSError."""
    folder = f"{root}/plugins/.csi-locks"
    os.makedirs(folder, 0o700, exist_ok=True)
    path = f"{folder}/{sha256(f'{driver}^{handle}'.encode()).hexdigest()}"
    while True:
        if (fd := _taken(path)) is not None:
            break
        await asyncio.sleep(_LOOK_S)
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)  # who waits has this file open, and sees that it is not the one of the name any more
        os.close(fd)


def _taken(path: str) -> int | None:
    """A descriptor that holds the lock; None while another one does."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = os.path.samestat(os.fstat(fd), os.stat(path))
    except (BlockingIOError, FileNotFoundError):
        is_ours = False
    if not is_ours:
        os.close(fd)
    return fd if is_ours else None
