"""Directories and small files of a pod, made with as few system calls as may be. All raise OSError."""

import os


def ensure_dir(path: str, mode: int) -> bool:
    """Make a directory, and its parents when they lack; whether it was made now. One call in the common case."""
    try:
        os.mkdir(path, mode)
    except FileExistsError:
        return False
    except FileNotFoundError:
        os.makedirs(path, mode, exist_ok=True)
    return True


def write(path: str, text: bytes, mode: int) -> None:
    """Replace a file's content in place: a bind mount of it goes on showing it."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)


def touch(path: str, mode: int) -> None:
    """Make an empty file of this very mode, whatever the umask; one that is there keeps its content."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)
