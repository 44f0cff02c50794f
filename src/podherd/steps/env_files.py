"""Files in a pod's volumes from which variables come (`fileKeyRef`; kubelet behaviour, section 3.12)."""

import errno
import os
import stat

from podherd.cri.convert.env_file import ReadFile
from podherd.model.pod import Container
from podherd.steps.context import Context
from podherd.volumes.descent import open_beneath

LARGEST_BYTES = 1 << 20
"""More than any environment can hold."""


def are_read(container: Container) -> bool:
    """Whether a variable of it comes from a file, which may be long: another container wrote it."""
    return any("fileKeyRef" in (entry.get("valueFrom") or ()) for entry in container.body.get("env") or ())


def reader(context: Context) -> ReadFile:
    """Reads from the volumes that this sync made ready."""

    def read(volume: str, path: str) -> bytes:
        if (ready := context.volumes.get(volume)) is None:
            raise FileNotFoundError(errno.ENOENT, f'cannot find the volume "{volume}" referenced by FileKeyRef')
        return read_beneath(ready.path, path)

    return read


def read_beneath(root: str, path: str) -> bytes:
    """The regular file `path` below `root`; no symlink leads out. Raises OSError, VolumeError."""
    fd = open_beneath(root, path, make=False)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "is not a regular file", path)
        with open(f"/proc/self/fd/{fd}", "rb") as file:
            text = file.read(LARGEST_BYTES + 1)
    finally:
        os.close(fd)
    if len(text) > LARGEST_BYTES:
        raise OSError(errno.EFBIG, f"is larger than {LARGEST_BYTES} bytes", path)
    return text
