"""Mounts that travel between a container and the host (`mountPropagation`; kernel doc: shared subtrees).

The runtime refuses HostToContainer and Bidirectional on a volume whose mount is private. The kubelet makes its whole
root directory shared at start; here only a volume that a container mounts so is, and on most hosts it is already.
"""

import os

from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import bind, is_mount, mount_id_at, share

MOUNT_INFO = "/proc/self/mountinfo"


def make_shared(path: str) -> None:
    """Put a volume's directory on a mount that is shared: a bind mount of itself if need be. Idempotent.

    `removal` takes such a mount away. Raises VolumeError.
    """
    try:
        if is_shared(path):
            return
        if not is_mount(path):
            bind(path, path)
        share(path)
    except OSError as error:
        raise VolumeError(path, f"cannot be made a shared mount: {error.strerror}") from error


def is_shared(path: str, mount_info: str = MOUNT_INFO) -> bool:
    """Whether the mount that `path` stands on has peers or may have. Raises OSError."""
    wanted = b"%d " % mount_id_at(path)
    fd = os.open(mount_info, os.O_RDONLY | os.O_CLOEXEC)
    with open(fd, "rb") as lines:
        line = next((line for line in lines if line.startswith(wanted)), b"")
    tags = line.partition(b" - ")[0].split()[6:]
    return any(tag.startswith(b"shared:") for tag in tags)
