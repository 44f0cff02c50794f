"""mount(2), umount2(2) and the kernel's own answer to "is this another mount than its parent?"."""

import ctypes
import errno
import os
from collections.abc import Callable
from typing import Any

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_SHARED = 1 << 20
UMOUNT_NOFOLLOW = 8
STACKED_MAX = 64
"""Mounts on one path that `unmount_all` takes away before it gives up."""

_libc = ctypes.CDLL(None, use_errno=True)


def mount(fs_type: str, target: str, options: str, flags: int = MS_NOSUID | MS_NODEV) -> None:
    """Mount a file system that has no source, such as tmpfs, on `target`. Raises OSError with the kernel's errno."""
    _call(_libc.mount, fs_type.encode(), os.fsencode(target), fs_type.encode(), flags, options.encode(), path=target)


def bind(source: str, target: str) -> None:
    """Show `source` at `target` too, without the mounts below it. Raises OSError with the kernel's errno.

    A source `/proc/self/fd/<n>` is the very file or directory that the descriptor stands on, wherever its name leads
    by now.
    """
    _call(_libc.mount, os.fsencode(source), os.fsencode(target), None, MS_BIND, None, path=target)


def make_read_only(target: str) -> None:
    """Nobody may write through the bind mount on `target`; other mounts of the same files stay. Raises OSError."""
    flags = MS_REMOUNT | MS_BIND | MS_RDONLY
    _call(_libc.mount, None, os.fsencode(target), None, flags, None, path=target)


def share(target: str) -> None:
    """Mounts made below `target`, itself a mount, reach every copy of it. Raises OSError."""
    _call(_libc.mount, None, os.fsencode(target), None, MS_SHARED | MS_REC, None, path=target)


def unmount(target: str) -> None:
    """Unmount what stands on `target`, which may not be a symlink. Raises OSError with the kernel's errno."""
    _call(_libc.umount2, os.fsencode(target), UMOUNT_NOFOLLOW, path=target)


def unmount_all(target: str) -> None:
    """Unmount as often as a mount stands on `target`. Raises OSError, EBUSY also for a stack without end."""
    for _ in range(STACKED_MAX):
        if not is_mount(target):
            return
        unmount(target)
    raise OSError(errno.EBUSY, "too many mounts on one path", target)


def _call(function: Callable[..., int], *args: Any, path: str) -> None:
    wrapped = [ctypes.c_ulong(arg) if isinstance(arg, int) else arg for arg in args]
    if function(*wrapped) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)


def mount_id(fd: int) -> int:
    """The kernel's id of the mount that an open file stands on (proc(5), fdinfo).

    Unlike a device number it also differs across a bind mount of the same file system, and unlike a read of
    mountinfo its cost does not grow with the number of mounts on the node.
    """
    path = f"/proc/self/fdinfo/{fd}"
    info = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _, found, rest = os.read(info, 512).partition(b"mnt_id:")
    finally:
        os.close(info)
    if not found:
        raise OSError(errno.ENOTSUP, "the kernel tells no mnt_id", path)
    return int(rest.split(None, 1)[0])


def is_mount(path: str) -> bool:
    """Whether another mount than the parent directory's stands on this directory or file. Raises OSError."""
    return mount_id_at(path) != mount_id_at(os.path.dirname(path))


def mount_id_at(path: str) -> int:
    """The id of the mount that a path stands on; a symlink at its end is not followed. Raises OSError."""
    fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return mount_id(fd)
    finally:
        os.close(fd)
