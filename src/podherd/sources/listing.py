"""Which manifest files there are, and their bytes; everything here may block and runs in a thread."""

import errno
import os
import stat
from typing import NamedTuple

from podherd.model.document import LIMIT_BYTES

_SETTLED_S = 2.0
"""A file this old at its reading cannot change again without showing it in its times (clocks of file systems tick)."""


class Signature(NamedTuple):
    """When equal to an earlier one of the same name, the file holds what it held."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class Entry(NamedTuple):
    """One file. path: as the system has it; name: printable. problem: why it cannot be a manifest, else empty.

    unsure: the system could not tell (a network file system that stumbles): no reason to stop the file's pod at once.
    """

    path: str
    name: str
    signature: Signature
    problem: str = ""
    unsure: bool = False


class Listing(NamedTuple):
    """Entries by name's bytes; without a problem they are all there is."""

    entries: list[Entry]
    exists: bool = True
    problem: str = ""


class Target(NamedTuple):
    """The directory to watch, by name, device and inode."""

    directory: str
    device: int
    inode: int


_NOTHING = Signature(0, 0, 0, 0)


def printable(path: str) -> str:
    """The path with odd bytes escaped, so that it can be shown and sent."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def target_of(path: str) -> Target | None:
    """The directory itself, or the one that a single file is in; None when the path leads nowhere."""
    try:
        directory = path if stat.S_ISDIR(os.stat(path).st_mode) else os.path.dirname(path)
        found = os.stat(directory)
    except OSError:
        return None
    return Target(directory, found.st_dev, found.st_ino)


def list_manifests(path: str) -> Listing:
    """A directory's files, or the one file. Dot-files and sub-directories are left out in silence."""
    try:
        names = sorted((name for name in os.listdir(path) if not name.startswith(".")), key=os.fsencode)
    except FileNotFoundError:
        return Listing([], exists=False)
    except NotADirectoryError:
        entry = look_at(path)
        return Listing([entry]) if entry else Listing([], exists=False)
    except OSError as error:
        return Listing([], problem=f"cannot be read: {error.strerror}")
    entries = look_at_all([os.path.join(path, name) for name in names])
    return Listing([entry for entry in entries.values() if entry is not None])


def look_at_all(paths: list[str]) -> dict[str, Entry | None]:
    """Each file by its path."""
    return {path: look_at(path) for path in paths}


def look_at(path: str) -> Entry | None:
    """One file by its path; None when it is not there or is a directory. Symbolic links are followed."""
    name = printable(path)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return Entry(path, name, _NOTHING, "is a symbolic link to nothing") if os.path.islink(path) else None
    except OSError as error:
        return Entry(path, name, _NOTHING, f"cannot be read: {error.strerror}", unsure=True)
    if stat.S_ISDIR(found.st_mode):
        return None
    signature = Signature(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    if not stat.S_ISREG(found.st_mode):
        return Entry(path, name, signature, "is not a regular file")
    return Entry(path, name, signature)


def is_settled(signature: Signature, now: float) -> bool:
    """Whether a later write is sure to change the signature."""
    return now - max(signature.mtime_ns, signature.ctime_ns) / 1e9 > _SETTLED_S


def read(path: str) -> bytes | str:
    """The file's bytes, at most one more than the limit; or why it cannot be read. Never waits for a pipe's writer."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file.read(LIMIT_BYTES + 1)
    except FileNotFoundError:
        return "went away while it was read"
    except OSError as error:
        return f"cannot be read: {error.strerror or errno.errorcode.get(error.errno or 0, 'unknown error')}"


def read_all(entries: list[Entry]) -> list[bytes | str]:
    """The bytes, or the problem, of each."""
    return [read(entry.path) for entry in entries]
