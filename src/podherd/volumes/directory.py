"""The directory of a volume that is the pod's own: `<pod>/volumes/<plugin>/<volume>` (kubelet behaviour, 13.2)."""

import errno
import os
import stat

from podherd.model.resources import container_amounts, pod_amounts
from podherd.volumes.mounting import mount
from podherd.volumes.ready import Site

EMPTY_DIRS = "kubernetes.io~empty-dir"
DOWNWARD = "kubernetes.io~downward-api"
PROJECTED = "kubernetes.io~projected"
SECRET = "kubernetes.io~secret"
CONFIG_MAP = "kubernetes.io~configmap"
LOCAL = "kubernetes.io~local-volume"
OWN_PLUGINS = (EMPTY_DIRS, DOWNWARD, PROJECTED, SECRET, CONFIG_MAP, LOCAL)
"""Plugins whose volumes may be mounts, made by us and for us to unmount."""
UNFINISHED = 0
"""The mode of a root directory until its owner and mode are set. Whatever a container does to it later stays so."""


def make(site: Site, plugin: str, name: str) -> str:
    """Make the directory, unfinished, if it is not there; its path. Raises OSError."""
    above = f"{site.pod_dir}/volumes/{plugin}"
    path = f"{above}/{name}"
    try:
        os.mkdir(path, UNFINISHED)
    except FileExistsError:
        pass
    except FileNotFoundError:
        os.makedirs(above, 0o750, exist_ok=True)
        os.mkdir(path, UNFINISHED)
    return path


def finish(path: str, group: int | None) -> None:
    """Open the volume's root to every user, 0777, and to the pod's group where it has one; once. Raises OSError.

    A volume of this kind is empty when it is made, so that its root is all that the group has to be given; from then
    on the set-group-id bit hands it down (kubelet behaviour, section 13.5).
    """
    if stat.S_IMODE(os.stat(path).st_mode) != UNFINISHED:
        return
    if group is not None:
        os.chown(path, -1, group)
    os.chmod(path, 0o777 if group is None else 0o2777)


def mount_tmpfs(path: str, size_bytes: int) -> None:
    """An unfinished tmpfs. `noswap` came with Linux 6.4; an older kernel refuses the word. Raises OSError."""
    options = f"size={size_bytes},mode={UNFINISHED:o}"
    try:
        mount("tmpfs", path, f"{options},noswap")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        mount("tmpfs", path, options)


def memory_bytes(site: Site) -> int:
    """What a volume in memory may grow to: what the node has for pods, or the pod's limit where all is limited."""
    pod = site.pod
    whole = (pod.body["spec"].get("resources") or {}).get("limits") or {}
    every = (*pod.init_containers, *pod.containers)
    limited = "memory" in whole or all(container_amounts(one, "limits").get("memory") for one in every)
    limit = pod_amounts(pod, "limits").get("memory", 0) if limited else 0
    room = site.host.allocatable.get("memory") or site.host.memory_bytes
    return min(room, limit) if limit else room
