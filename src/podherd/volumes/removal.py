"""Taking a pod's directory away: its own mounts first, then everything below, never across another mount or a symlink.

Kubelet behaviour, section 13.7. The walk holds a directory's descriptor and names children relative to it, so a
symlink that a container left in its volume is removed as the link that it is. However deep a container has nested its
directories, the walk has a list of them and two descriptors.
"""

import errno
import os
from dataclasses import dataclass

from podherd.volumes.directory import OWN_PLUGINS
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import mount_id, unmount_all
from podherd.volumes.subpaths import SUBPATHS

QUICK_ENTRIES = 64
QUICK_BYTES = 1 << 20
"""What is removed in well under a millisecond on any disk: no more entries, no file larger than this."""
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def has_volumes(pod_dir: str) -> bool:
    """Whether anything of the pod may be mounted."""
    return os.path.lexists(f"{pod_dir}/volumes") or os.path.lexists(f"{pod_dir}/{SUBPATHS}")


def unmount_own(pod_dir: str) -> None:
    """Unmount the pod's parts of volumes, then its own volumes that are file systems. Raises VolumeError."""
    try:
        for path in _below(f"{pod_dir}/{SUBPATHS}", 3):
            unmount_all(path)
        for plugin in OWN_PLUGINS:
            for path in _below(f"{pod_dir}/volumes/{plugin}", 1):
                unmount_all(path)
    except OSError as error:
        raise VolumeError(error.filename or pod_dir, f"cannot be unmounted: {error.strerror}") from error


def _below(path: str, levels: int) -> list[str]:
    """What stands so many levels below a directory; no symlink, and nothing below one that is not there."""
    try:
        with os.scandir(path) as entries:
            found = [entry for entry in entries if not entry.is_symlink()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    if levels == 1:
        return [entry.path for entry in found]
    return [inner for entry in found for inner in _below(entry.path, levels - 1)]


class _SlowError(Exception):
    """More is below than is removed in a moment."""


def remove_tree(path: str, quick: bool = False) -> bool:
    """Remove a directory and all below it; one that is not there, or could not be by its name's length, is fine.

    quick: stop where much is left, for a call that may not take long; False is then the answer, and another call goes
    on. Raises VolumeError when a mount stands below (nothing on it is touched), when `path` is a symlink or a file,
    or when the kernel refuses; what could be removed until then is gone.
    """
    try:
        fd = os.open(path, _DIRECTORY)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENAMETOOLONG):
            return True
        raise VolumeError(path, f"is not a directory that can be removed: {error.strerror}") from error
    try:
        _Walk(path, fd, quick).empty()
        os.rmdir(path)
    except _SlowError:
        return False
    except OSError as error:
        raise VolumeError(path, f"cannot be removed: {error.strerror} ({error.filename or path})") from error
    finally:
        os.close(fd)
    return True


@dataclass(slots=True)
class _Level:
    """A directory on the way down: its name in the one above, device and inode, and the directories left in it."""

    name: str
    id: tuple[int, int]
    left: list[str]


class _Walk:
    """Empties the directory that `root` stands on. Raises OSError, VolumeError, _SlowError."""

    def __init__(self, path: str, root: int, quick: bool) -> None:
        self._path = path
        self._root = root
        self._mount = mount_id(root)
        self._entries_left: int | None = QUICK_ENTRIES if quick else None
        self._levels: list[_Level] = []

    def empty(self) -> None:
        """Depth first: a directory without directories is emptied and removed from above, else it is gone into."""
        fd = os.dup(self._root)
        try:
            self._levels = [_Level("", _id(fd), self._unlink_files(fd))]
            while self._levels:
                fd = self._up(fd) if not self._levels[-1].left else self._down(fd)
        finally:
            os.close(fd)

    def _down(self, fd: int) -> int:
        name = self._levels[-1].left[-1]
        child = os.open(name, _DIRECTORY, dir_fd=fd)
        try:
            if mount_id(child) != self._mount:
                raise VolumeError(self._named(name), "another file system is mounted here", "unmount it first")
            left = self._unlink_files(child)
            if left:
                self._levels.append(_Level(name, _id(child), left))
                fd, child = child, fd
                return fd
        finally:
            os.close(child)
        self._remove(fd)
        return fd

    def _up(self, fd: int) -> int:
        """Back to the directory above, if it is still the one we came from."""
        gone = self._levels.pop()
        if not self._levels:
            return fd
        above = os.open("..", _DIRECTORY, dir_fd=fd)
        try:
            if _id(above) != self._levels[-1].id:
                mend = "end the process that did it"
                raise VolumeError(self._named(gone.name), "was moved while it was removed", mend)
            self._remove(above)
            fd, above = above, fd
            return fd
        finally:
            os.close(above)

    def _remove(self, fd: int) -> None:
        os.rmdir(self._levels[-1].left.pop(), dir_fd=fd)

    def _unlink_files(self, fd: int) -> list[str]:
        """Remove all but the directories, and name those."""
        with os.scandir(fd) as entries:
            children = [(entry, entry.is_dir(follow_symlinks=False)) for entry in entries]
            if self._entries_left is not None:
                self._check_quick(children)
        for entry, is_directory in children:
            if not is_directory:
                os.unlink(entry.name, dir_fd=fd)
        return [entry.name for entry, is_directory in children if is_directory]

    def _check_quick(self, children: list[tuple["os.DirEntry[str]", bool]]) -> None:
        """Raises _SlowError before more is removed than the walk has left, or a large file."""
        left = self._entries_left = (self._entries_left or 0) - len(children)
        if left < 0 or any(not is_dir and _size(entry) > QUICK_BYTES for entry, is_dir in children):
            raise _SlowError

    def _named(self, name: str) -> str:
        return "/".join([self._path, *(level.name for level in self._levels[1:]), name])


def _size(entry: "os.DirEntry[str]") -> int:
    return entry.stat(follow_symlinks=False).st_size


def _id(fd: int) -> tuple[int, int]:
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
