"""fsGroup on the files of a content volume, before containers can see them (kubelet behaviour, section 13.5).

Such volumes are the pod's own and small, so the whole tree is always gone through: fsGroupChangePolicy speaks of
persistent volumes only. The tree is new and shown to no container, so that nothing moves while it is walked.
"""

import os
import stat

_FILE = 0o440
_DIRECTORY = 0o110 | stat.S_ISGID
"""What the group gets beside its ownership: content is read only."""


def give(path: str, group: int) -> None:
    """The directory `path` and all below it belong to `group`, which may read them. Raises OSError."""
    _give(path, group)
    for above, directories, files in os.walk(path, onerror=_raise):
        for name in (*directories, *files):
            _give(f"{above}/{name}", group)


def _give(path: str, group: int) -> None:
    """A symlink has an owner but no mode of its own."""
    os.lchown(path, -1, group)
    mode = os.lstat(path).st_mode
    if not stat.S_ISLNK(mode):
        extra = _FILE | _DIRECTORY if stat.S_ISDIR(mode) else _FILE
        os.chmod(path, stat.S_IMODE(mode) | extra)


def _raise(error: OSError) -> None:
    raise error
