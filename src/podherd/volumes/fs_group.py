"""fsGroup on a persistent volume (kubelet behaviour, section 13.5).

The volume may be large, and other pods may have it open and rename what is in it: each name is looked up from its
directory's descriptor and no symlink is followed. Children come before their directory, so that a root with the right
group says that all below it was done (`OnRootMismatch`).
"""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass

from podherd.volumes.errors import VolumeError

_WRITABLE = 0o660
_READ_ONLY = 0o440
_SEARCH = 0o110
_PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(slots=True)
class Progress:
    """How many files were seen, for whoever waits; written by the one thread that walks."""

    files: int = 0


def give(root: str, group: int, policy: str, read_only: bool, progress: Progress | None = None) -> None:
    """All of the volume belongs to `group`. policy: `Always` or `OnRootMismatch`. Blocking. Raises VolumeError.

    A file whose owner the file system does not let change is passed over, as the kubelet does.
    """
    counted = progress or Progress()
    try:
        if policy == "OnRootMismatch" and _root_matches(root, group, read_only):
            return
        for _, directories, files, fd in os.fwalk(root, topdown=False, onerror=_raise):
            for name in (*directories, *files):
                counted.files += 1
                _give_name(name, fd, group, read_only)
            _give_fd(fd, group, read_only)
    except (OSError, RecursionError) as error:
        raise VolumeError(f"fsGroup {group} of {root}", f"cannot be applied: {error}") from error


def _root_matches(root: str, group: int, read_only: bool) -> bool:
    found = os.stat(root)
    wanted = (_READ_ONLY if read_only else _WRITABLE) | _SEARCH | stat.S_ISGID
    return stat.S_ISDIR(found.st_mode) and found.st_gid == group and found.st_mode & wanted == wanted


def _give_name(name: str, above: int, group: int, read_only: bool) -> None:
    """One that is no directory; those are done when they are walked."""
    with suppress(OSError):
        fd = os.open(name, _PATH, dir_fd=above)
        try:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                _give_fd(fd, group, read_only)
        finally:
            os.close(fd)


def _give_fd(fd: int, group: int, read_only: bool) -> None:
    """The file that a descriptor stands on, O_PATH too; a symlink has an owner but no mode of its own.

    Its name in /proc is the file itself, a symlink too, whatever other names lead to by now.
    """
    itself = f"/proc/self/fd/{fd}"
    mode = os.fstat(fd).st_mode
    wanted = stat.S_IMODE(mode) | (_READ_ONLY if read_only else _WRITABLE)
    if stat.S_ISDIR(mode):
        wanted |= _SEARCH | stat.S_ISGID
    with suppress(OSError):
        os.chown(itself, -1, group)
        if not stat.S_ISLNK(mode):
            os.chmod(itself, wanted)


def _raise(error: OSError) -> None:
    raise error
