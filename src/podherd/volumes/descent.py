"""A path inside a volume, opened so that whatever a container does with symlinks leads nowhere else.

Kubelet behaviour, section 13.6. Each name is looked up alone, from the descriptor of the directory before it, and no
link is ever followed by the kernel: it is read, and its names are looked up the same way. So what is opened is below
the volume's root, whoever renames what meanwhile. A link that leads out is an error, and so is an absolute one, unless
it names the volume's own place on the host.
"""

import os
import stat

from podherd.volumes.errors import VolumeError

LINKS_MAX = 40
DEPTH_MAX = 128
"""Directories between the root and the end: each costs a descriptor for a moment."""
_OPEN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


def open_beneath(root: str, path: str, make: bool = True) -> int:
    """A descriptor (O_PATH) of `path` below the directory `root`; whoever gets it closes it.

    Directories that are not there are made, with the mode of the root, unless `make` is false. Raises VolumeError,
    OSError.
    """
    descent = _Descent(root, path, make)
    try:
        return descent.go()
    finally:
        descent.close()


class _Descent:
    def __init__(self, root: str, path: str, make: bool) -> None:
        self._root = os.path.realpath(root)
        self._named = os.path.normpath(root)
        self._path = path
        if "\0" in path:
            raise VolumeError(f"subPath {path!r:.80}", "must not contain a NUL")
        self._make = make
        self._links = 0
        self._left = _names(path)
        self._open = [os.open(self._root, _OPEN | os.O_DIRECTORY)]
        self._mode = stat.S_IMODE(os.fstat(self._open[0]).st_mode)

    def go(self) -> int:
        while self._left:
            name = self._left.pop()
            if name == "..":
                self._up()
            else:
                self._enter(name)
        return self._open.pop()

    def close(self) -> None:
        for fd in self._open:
            os.close(fd)

    def _up(self) -> None:
        if len(self._open) == 1:
            raise self._outside("..")
        os.close(self._open.pop())

    def _enter(self, name: str) -> None:
        if len(self._open) > DEPTH_MAX:
            raise VolumeError(f"subPath {self._path!r:.80}", f"has more than {DEPTH_MAX} directories")
        fd = self._look_up(name)
        self._open.append(fd)
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            target = os.readlink("", dir_fd=fd)
            os.close(self._open.pop())
            self._follow(target)

    def _look_up(self, name: str) -> int:
        above = self._open[-1]
        try:
            return os.open(name, _OPEN, dir_fd=above)
        except FileNotFoundError:
            if not self._make:
                raise
        os.mkdir(name, self._mode, dir_fd=above)
        fd = os.open(name, _OPEN, dir_fd=above)
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            os.chmod(f"/proc/self/fd/{fd}", self._mode)
        return fd

    def _follow(self, target: str) -> None:
        self._links += 1
        if self._links > LINKS_MAX:
            raise VolumeError(f"subPath {self._path!r:.80}", "leads through too many symlinks")
        if target.startswith("/"):
            target = self._inside(target)
            while len(self._open) > 1:
                os.close(self._open.pop())
        self._left.extend(_names(target))

    def _inside(self, target: str) -> str:
        """What an absolute target names below the root, which may be written with links or without."""
        plain = os.path.normpath(target)
        for root in (self._root, self._named):
            if os.path.commonpath([root, plain]) == root:
                return plain.removeprefix(root)
        raise self._outside(target)

    def _outside(self, target: str) -> VolumeError:
        mend = "a link inside a volume must stay inside it"
        return VolumeError(f"subPath {self._path!r:.80}", f"leads out of the volume (to {target!r:.80})", mend)


def _names(path: str) -> list[str]:
    """The names of a path, last first; `.` and empty ones left out."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]
