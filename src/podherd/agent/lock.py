"""One agent on one root directory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podherd.errors import PodherdError
from podherd.model.settings import LOCK_FILE


class LockedError(PodherdError):
    """Another agent holds the root directory."""


@contextmanager
def root_lock(root_dir: Path) -> Iterator[None]:
    """Hold `<root>/podherd.lock` (flock, gone with the process). Raises LockedError, or PodherdError without a root."""
    try:
        root_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        root_dir.chmod(0o700)
        descriptor = os.open(root_dir / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        mend = "run as root, or choose another --root-dir"
        raise PodherdError(f"root dir {root_dir}", f"cannot be used: {error.strerror}", mend) from error
    try:
        _take(descriptor, root_dir)
        yield
    finally:
        os.close(descriptor)


def holder(root_dir: Path) -> int | None:
    """The pid of the agent that holds the root directory, None when none does. Raises PodherdError without a right."""
    try:
        descriptor = os.open(root_dir / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PodherdError(f"root dir {root_dir}", f"cannot be used: {error.strerror}", "run as root") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(os.pread(descriptor, 32, 0) or b"0") or None
    finally:
        os.close(descriptor)
    return None


def _take(descriptor: int, root_dir: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
        reason = f"another podherd runs on it (pid {holder})"
        raise LockedError(
            f"root dir {root_dir}", reason, f"stop it: kill {holder}; or choose another --root-dir"
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
