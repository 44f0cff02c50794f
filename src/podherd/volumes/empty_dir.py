"""emptyDir: a directory 0777 on disk, a tmpfs (`Memory`) or a hugetlbfs (`HugePages…`) (kubelet behaviour, 13.3)."""

from collections.abc import Iterator

from podherd.model.pod import Body, Pod
from podherd.model.quantity import bytes_of
from podherd.model.resources import HUGE_PAGES
from podherd.volumes import directory
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import is_mount, mount
from podherd.volumes.ready import Ready, Site

HUGE = "HugePages"


def prepare(site: Site, name: str, source: Body) -> Ready:
    """Make the volume's directory, mounted where it has a medium. Idempotent. Raises VolumeError."""
    path = f"{site.pod_dir}/volumes/{directory.EMPTY_DIRS}/{name}"
    try:
        path = directory.make(site, directory.EMPTY_DIRS, name)
        if medium := source.get("medium") or "":
            _mount_once(site, name, medium, source, path)
        directory.finish(path, site.group)
    except OSError as error:
        raise VolumeError(f"volume {name}", f"{path}: {error.strerror}") from error
    return Ready(path)


def _mount_once(site: Site, name: str, medium: str, source: Body, path: str) -> None:
    if is_mount(path):
        return
    if medium == "Memory":
        directory.mount_tmpfs(path, tmpfs_size_bytes(site, source))
    elif medium == HUGE or medium.startswith(HUGE + "-"):
        size_bytes = page_size_bytes(site.pod, name, medium)
        mount("hugetlbfs", path, f"pagesize={size_bytes},mode={directory.UNFINISHED:o}")
    else:
        raise VolumeError(f"volume {name}", f'unknown storage medium "{medium}"')


def tmpfs_size_bytes(site: Site, source: Body) -> int:
    """The least of the node's memory, the pod's memory limit (when every container has one) and sizeLimit."""
    room_bytes = directory.memory_bytes(site)
    limit_bytes = bytes_of(source.get("sizeLimit") or 0)
    return min(room_bytes, limit_bytes) if limit_bytes else room_bytes


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
            if resource.startswith(HUGE_PAGES):
                yield resource.removeprefix(HUGE_PAGES)
