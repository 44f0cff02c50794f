"""A part of a volume as a mount of its own (kubelet behaviour, section 13.6).

The part is opened (`descent`) and then bound by its descriptor on `<pod>/volume-subpaths/<volume>/<container>/<index>`,
where no container has access: what the runtime mounts later is what was looked at, whatever its name leads to by then.
"""

import os
import stat

from podherd.volumes.descent import open_beneath
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import bind, is_mount, unmount_all

SUBPATHS = "volume-subpaths"


def target_of(pod_dir: str, volume: str, container: str, index: int) -> str:
    """Where the part stands that is the container's volume mount number `index`."""
    return f"{pod_dir}/{SUBPATHS}/{volume}/{container}/{index}"


def bind_part(root: str, path: str, target: str) -> str:
    """Bind `path` below the volume's directory `root` on `target`; the target. Raises VolumeError.

    A directory that is missing is made. A mount that an earlier start of the container left is used when it still
    shows the same file or directory, else replaced.
    """
    try:
        fd = open_beneath(root, path)
        try:
            _bind_once(fd, target)
        finally:
            os.close(fd)
    except OSError as error:
        raise VolumeError(f"subPath {path!r:.80} of {root}", f"{error.strerror}") from error
    return target


def _bind_once(fd: int, target: str) -> None:
    if os.path.lexists(target):
        if is_mount(target) and _same(fd, target):
            return
        _clear(target)
    os.makedirs(os.path.dirname(target), 0o750, exist_ok=True)
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.mkdir(target, 0o750)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o640))
    bind(f"/proc/self/fd/{fd}", target)


def _same(fd: int, target: str) -> bool:
    """Nobody but us can put a link at the target."""
    return os.path.samestat(os.fstat(fd), os.lstat(target))


def _clear(target: str) -> None:
    unmount_all(target)
    if os.path.isdir(target):
        os.rmdir(target)
    else:
        os.unlink(target)
