"""Files of a volume that all change at once (kubelet behaviour, section 13.4).

The files stand in a directory `..YYYY_MM_DD_HH_MM_SS.<random>`; `..data` is a symlink to it, and each top-level name a
symlink `name -> ..data/name`. A new version is a new directory and one rename of `..data`: a reader sees the old files
or the new ones. Who crashes in between leaves a version that the next write takes away.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import NamedTuple

from podherd.volumes.errors import VolumeError

DATA = "..data"
_NEW_DATA = "..data_tmp"
_PATH_MAX = 4096
_NAME_MAX = 255


class File(NamedTuple):
    """What a file holds, its mode, and the user who owns it where that is not the agent's."""

    content: bytes
    mode: int
    user: int | None = None


Files = Mapping[str, File]
"""By path relative to the volume."""
Publish = Callable[[str], None]
"""Told the directory of a new version before anybody can see it: owner and modes. Raises OSError."""


def write(volume: str, files: Files, publish: Publish = lambda _path: None) -> bool:
    """Make the volume hold these files and no others; whether anything had to be written.

    Files whose bytes are all as they should be stay as they are, modes too. Raises VolumeError for a path that is not
    allowed, OSError.
    """
    files = {clean(path): file for path, file in files.items()}
    _check_clashes(files)
    current = _current(volume)
    changed = current is None or _held(f"{volume}/{current}") != {path: file.content for path, file in files.items()}
    if changed:
        current = _new_version(volume, files, publish)
    _link(volume, files)
    _sweep(volume, files, current)
    return changed


def clean(path: str) -> str:
    """The path in its plain form. Raises VolumeError for one that leads out of the volume or into its bookkeeping."""
    plain = os.path.normpath(path)
    if os.path.isabs(path) or plain == "." or "\0" in path:
        raise VolumeError(f"path {path!r:.80}", "must be relative, not empty and without a NUL")
    if len(path) > _PATH_MAX or any(len(os.fsencode(name)) > _NAME_MAX for name in plain.split("/")):
        raise VolumeError(f"path {path!r:.80}", f"is longer than {_PATH_MAX} characters, or a name than {_NAME_MAX}")
    if ".." in path.split("/") or plain.startswith(".."):
        raise VolumeError(f"path {path!r:.80}", "must not contain '..' nor begin with it")
    return plain


def _check_clashes(files: Files) -> None:
    """Raises VolumeError where one path is to be a file and, for another, a directory."""
    for path in files:
        for above in accumulate(path.split("/")[:-1], "{}/{}".format):
            if above in files:
                raise VolumeError(f"path {path!r:.80}", f"{above!r:.80} is a file of the same volume")


def _current(volume: str) -> str | None:
    """The directory of the version that is shown, if it is there."""
    try:
        name = os.readlink(f"{volume}/{DATA}")
    except FileNotFoundError:
        return None
    return name if os.path.isdir(f"{volume}/{name}") else None


def _held(version: str) -> dict[str, bytes]:
    held: dict[str, bytes] = {}
    for above, _, names in os.walk(version):
        for name in names:
            with open(f"{above}/{name}", "rb") as file:
                held[os.path.relpath(f"{above}/{name}", version)] = file.read()
    return held


def _new_version(volume: str, files: Files, publish: Publish) -> str:
    """Write a version and show it; its name."""
    version = tempfile.mkdtemp(prefix=time.strftime("..%Y_%m_%d_%H_%M_%S.", time.gmtime()), dir=volume)
    os.chmod(version, 0o755)
    for path, file in files.items():
        _write_file(version, path, file)
    publish(version)
    name = os.path.basename(version)
    new_data = f"{volume}/{_NEW_DATA}"
    if os.path.lexists(new_data):
        os.unlink(new_data)
    os.symlink(name, new_data)
    os.rename(new_data, f"{volume}/{DATA}")
    return name


def _write_file(version: str, path: str, file: File) -> None:
    above, slash, _ = path.rpartition("/")
    if slash:
        os.makedirs(f"{version}/{above}", 0o755, exist_ok=True)
    fd = os.open(f"{version}/{path}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as written:
        written.write(file.content)
        os.fchmod(fd, file.mode)
        if file.user is not None:
            os.fchown(fd, file.user, -1)


def _top_names(files: Files) -> set[str]:
    return {path.partition("/")[0] for path in files}


def _link(volume: str, files: Files) -> None:
    for name in _top_names(files):
        link = f"{volume}/{name}"
        if not os.path.islink(link):
            os.symlink(f"{DATA}/{name}", link)


def _sweep(volume: str, files: Files, current: str | None) -> None:
    """Remove links to what is no more, and versions that are not shown."""
    kept = {DATA, current, *_top_names(files)}
    for name in os.listdir(volume):
        path = f"{volume}/{name}"
        if name in kept:
            continue
        if os.path.islink(path):
            os.unlink(path)
        elif name.startswith(".."):
            shutil.rmtree(path)
