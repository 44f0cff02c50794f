"""A PersistentVolume of kind `local` or `hostPath`: a directory of this node (kubelet behaviour, 13.5 and 13.7).

A local one is bound at `<pod>/volumes/kubernetes.io~local-volume/<pv>`, as by the kubelet; `removal` unbinds it and
never goes into it.
"""

import os
from collections.abc import Callable

from podherd.errors import PodherdError
from podherd.model.path_part import path_part
from podherd.volumes import fs_group, host_path
from podherd.volumes.claim import Bound
from podherd.volumes.directory import LOCAL
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import bind, is_mount, make_read_only, unmount_all
from podherd.volumes.ready import Ready, Site

Warn = Callable[[str, str], None]
"""Reason and message of a Warning event about the pod. Called in the thread that prepares."""


def prepare(site: Site, found: Bound, warn: Warn, progress: fs_group.Progress | None = None) -> Ready:
    """The directory of the volume, for containers to mount. Blocking; idempotent. Raises VolumeError."""
    if source := found.spec.get("hostPath"):
        ready = host_path.prepare(site, found.volume, {"type": "", **source})
        return ready._replace(read_only=found.read_only)
    source = found.spec.get("local") or {}
    try:
        target = _target(site, found)
        directory = _directory(source)
        if not _is_bound(target, directory, found.read_only):
            if site.group is not None and not found.read_only:
                _give(site, site.group, found.name, directory, warn, progress)
            _bind(target, directory, found.read_only)
    except OSError as error:
        raise VolumeError(f'volume "{found.name}"', f"{error.filename}: {error.strerror}") from error
    return Ready(target, read_only=found.read_only)


def _directory(source: object) -> str:
    path = str(source.get("path") or "") if isinstance(source, dict) else ""
    if ".." in path.split("/") or not path.startswith("/") or "\0" in path:
        raise VolumeError(f"local path {path!r:.80}", "must be absolute and without '..'")
    if not os.path.exists(path):
        text = f'path "{path}" does not exist'
        raise VolumeError(f"local path {path}", "does not exist", "create it on this node", text)
    if not os.path.isdir(path):
        raise VolumeError(f"local path {path}", "is no directory", "mount the device, and name the directory")
    return path


def _target(site: Site, found: Bound) -> str:
    try:
        return f"{site.pod_dir}/volumes/{LOCAL}/{path_part('volume name', found.name)}"
    except PodherdError as error:
        raise VolumeError(error.thing, error.reason) from error


def _is_bound(target: str, source: str, read_only: bool) -> bool:
    """What a crash left half done (bound, not yet read-only) is not."""
    if not os.path.isdir(target) or not is_mount(target):
        return False
    return os.path.samestat(os.stat(target), os.stat(source)) and _read_only(target) >= read_only


def _bind(target: str, source: str, read_only: bool) -> None:
    os.makedirs(target, 0o750, exist_ok=True)
    unmount_all(target)
    bind(source, target)
    if read_only:
        make_read_only(target)


def _read_only(path: str) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _give(site: Site, group: int, name: str, directory: str, warn: Warn, progress: fs_group.Progress | None) -> None:
    """Before it is bound, so that a crash leaves it to be done. One that another pod has keeps the group it has."""
    if _held_by_others(site, name):
        if (now := os.stat(directory).st_gid) != group:
            text = f"The requested fsGroup is {group}, but the volume {name} has GID {now}. "
            warn("AlreadyMountedVolume", text + "The volume may not be shareable.")
        return
    fs_group.give(os.path.realpath(directory), group, site.group_policy, False, progress)


def _held_by_others(site: Site, name: str) -> bool:
    """Whether another pod of this node has the volume."""
    pods, own = os.path.split(site.pod_dir)
    with os.scandir(pods) as entries:
        others = [f"{entry.path}/volumes/{LOCAL}/{name}" for entry in entries if entry.name != own]
    return any(os.path.isdir(path) and is_mount(path) for path in others)
