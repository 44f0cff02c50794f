"""emptyDir: a directory 0777 on disk, a tmpfs (`Memory`) or a hugetlbfs (`HugePages…`) (kubelet behaviour, 13.3)."""

import errno
import os
from collections.abc import Iterator

from podherd.host import memory_bytes
from podherd.model.pod import Body, Pod
from podherd.model.quantity import bytes_of
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import is_mount, mount
from podherd.volumes.removal import EMPTY_DIRS

HUGE = "HugePages"


def prepare(pod: Pod, name: str, source: Body, pod_dir: str) -> str:
    """Make the volume's directory, mounted where it has a medium; its path. Idempotent. Raises VolumeError."""
    path = f"{pod_dir}/volumes/{EMPTY_DIRS}/{name}"
    try:
        os.makedirs(path, 0o750, exist_ok=True)
        if medium := source.get("medium") or "":
            _mount_once(pod, name, medium, source, path)
        os.chmod(path, 0o777)
    except OSError as error:
        raise VolumeError(f"volume {name}", f"{path}: {error.strerror}") from error
    return path


def _mount_once(pod: Pod, name: str, medium: str, source: Body, path: str) -> None:
    if is_mount(path):
        return
    if medium == "Memory":
        _mount_tmpfs(path, tmpfs_size_bytes(pod, source, memory_bytes()))
    elif medium == HUGE or medium.startswith(HUGE + "-"):
        mount("hugetlbfs", path, f"pagesize={page_size_bytes(pod, name, medium)}")
    else:
        raise VolumeError(f"volume {name}", f'unknown storage medium "{medium}"')


def _mount_tmpfs(path: str, size_bytes: int) -> None:
    """`noswap` came with Linux 6.4; an older kernel refuses the word."""
    try:
        mount("tmpfs", path, f"size={size_bytes},noswap")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        mount("tmpfs", path, f"size={size_bytes}")


def tmpfs_size_bytes(pod: Pod, source: Body, node_bytes: int) -> int:
    """The least of the node's memory, the pod's memory limit (when every container has one) and sizeLimit."""
    limits = [_memory_limit_bytes(container.body) for container in pod.containers]
    sizes = [node_bytes]
    if limits and all(limits):
        sizes.append(sum(limits))
    if (limit := source.get("sizeLimit")) is not None and bytes_of(limit) > 0:
        sizes.append(bytes_of(limit))
    return min(sizes)


def _memory_limit_bytes(container: Body) -> int:
    limit = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    return bytes_of(limit) if limit is not None else 0


def page_size_bytes(pod: Pod, name: str, medium: str) -> int:
    """The page size of a `HugePages` medium: the one it names, else the only one that the pod requests."""
    requested = set(_requested_pages(pod))
    wanted = {medium.removeprefix(HUGE + "-")} if medium != HUGE else requested
    if len(wanted) != 1 or not wanted <= requested:
        raise VolumeError(f"volume {name}", f"medium {medium} needs exactly one hugepages size in the pod's requests")
    return bytes_of(wanted.pop())


def _requested_pages(pod: Pod) -> Iterator[str]:
    for container in (*pod.init_containers, *pod.containers):
        resources = container.body.get("resources") or {}
        for resource in (*(resources.get("requests") or {}), *(resources.get("limits") or {})):
            if resource.startswith("hugepages-"):
                yield resource.removeprefix("hugepages-")
