"""A volume whose files the agent writes, all at once: on a tmpfs of its own or on disk (kubelet behaviour, 13.3)."""

from podherd.volumes import atomic, directory, ownership
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import is_mount
from podherd.volumes.ready import Ready, Site


def place(site: Site, plugin: str, name: str, files: atomic.Files, in_memory: bool = True) -> Ready:
    """The volume with these files, read-only for containers. Writes what has changed. Raises VolumeError."""
    path = f"{site.pod_dir}/volumes/{plugin}/{name}"
    try:
        path = directory.make(site, plugin, name)
        if in_memory and not is_mount(path):
            directory.mount_tmpfs(path, directory.memory_bytes(site))
        directory.finish(path, site.group)
        atomic.write(path, files, _publish(site.group))
    except OSError as error:
        raise VolumeError(f"volume {name}", f"{error.filename or path}: {error.strerror}") from error
    return Ready(path, read_only=True)


def _publish(group: int | None) -> atomic.Publish:
    def publish(version: str) -> None:
        if group is not None:
            ownership.give(version, group)

    return publish
