"""hostPath: a path of the node, checked and perhaps made by its `type` (kubelet behaviour, section 13.3)."""

import os
import stat

from podherd.model.pod import Body
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Ready, Site

_WANTED = {
    "DirectoryOrCreate": ("Directory", "directory"),
    "Directory": ("Directory", "directory"),
    "FileOrCreate": ("File", "file"),
    "File": ("File", "file"),
    "Socket": ("Socket", "socket file"),
    "CharDevice": ("CharDevice", "character device"),
    "BlockDevice": ("BlockDevice", "block device"),
}
_TYPES = (
    (stat.S_ISDIR, "Directory"),
    (stat.S_ISREG, "File"),
    (stat.S_ISSOCK, "Socket"),
    (stat.S_ISCHR, "CharDevice"),
    (stat.S_ISBLK, "BlockDevice"),
)


def prepare(_site: Site, _name: str, source: Body) -> Ready:
    """The host path of a v1.HostPathVolumeSource, after its type's check. Raises VolumeError with the kubelet's words.

    Without a type nothing is looked at: the runtime makes a directory that is missing.
    """
    path = str(source["path"])
    if ".." in path.split("/"):
        raise VolumeError(f"hostPath {path}", "must not contain '..'")
    if "\0" in path:
        raise VolumeError(f"hostPath {path!r}", "must not contain a NUL")
    wanted = source.get("type") or ""
    if wanted:
        _make(path, wanted)
        _check(path, wanted)
    return Ready(path)


def _make(path: str, wanted: str) -> None:
    """Directories 0755 with their parents, a file 0644 in a directory that must exist."""
    try:
        if wanted == "DirectoryOrCreate" and not os.path.lexists(path):
            os.makedirs(path, 0o755, exist_ok=True)
        elif wanted == "FileOrCreate" and not os.path.lexists(path):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    except OSError as error:
        raise VolumeError(f"hostPath {path}", f"cannot be made: {error.strerror}") from error


def _check(path: str, wanted: str) -> None:
    if wanted not in _WANTED:
        raise VolumeError(f"hostPath {path}", f"{wanted} is an invalid volume type")
    kind, words = _WANTED[wanted]
    found = _type_of(path)
    if found != kind:
        raise VolumeError("hostPath type check failed", f"{path} is not a {words}, it's a {found}")


def _type_of(path: str) -> str:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError as error:
        mend = "create it, or use a type that ends in OrCreate"
        raise VolumeError(f"hostPath {path}", "doesn't exist", mend, f"hostPath {path} doesn't exist") from error
    except OSError as error:
        raise VolumeError(f"hostPath {path}", f"cannot be read: {error.strerror}") from error
    return next((name for test, name in _TYPES if test(mode)), "unknown type")
