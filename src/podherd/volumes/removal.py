"""Taking a pod's directory away: its own mounts first, then everything below, never across another mount or a symlink.

Kubelet behaviour, section 13.7. The walk holds a directory's descriptor and names children relative to it, so a
symlink that a container left in its volume is removed as the link that it is.
"""

import os
import stat

from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import is_mount, mount_id, unmount

EMPTY_DIRS = "kubernetes.io~empty-dir"
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def unmount_own(pod_dir: str) -> None:
    """Unmount every emptyDir of the pod that is a file system of its own. Raises VolumeError."""
    above = os.path.join(pod_dir, "volumes", EMPTY_DIRS)
    try:
        with os.scandir(above) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False) and is_mount(entry.path):
                    unmount(entry.path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise VolumeError(error.filename or above, f"cannot be unmounted: {error.strerror}") from error


def remove_tree(path: str) -> None:
    """Remove a directory and all below it; one that is not there is fine.

    Raises VolumeError when a mount stands below (nothing on it is touched), when `path` is a symlink or a file,
    or when the kernel refuses; what could be removed until then is gone.
    """
    try:
        fd = os.open(path, _DIRECTORY)
    except FileNotFoundError:
        return
    except OSError as error:
        raise VolumeError(path, f"is not a directory that can be removed: {error.strerror}") from error
    try:
        _empty(fd, mount_id(fd), path)
        os.rmdir(path)
    except OSError as error:
        raise VolumeError(path, f"cannot be removed: {error.strerror} ({error.filename or path})") from error
    finally:
        os.close(fd)


def _empty(fd: int, mount: int, path: str) -> None:
    with os.scandir(fd) as entries:
        children = [(entry.name, stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode)) for entry in entries]
    for name, is_directory in children:
        if not is_directory:
            os.unlink(name, dir_fd=fd)
            continue
        child = os.open(name, _DIRECTORY, dir_fd=fd)
        try:
            if mount_id(child) != mount:
                raise VolumeError(f"{path}/{name}", "another file system is mounted here", "unmount it first")
            _empty(child, mount, f"{path}/{name}")
        finally:
            os.close(child)
        os.rmdir(name, dir_fd=fd)
