"""A volume whose files the agent writes: a tmpfs of its own, filled atomically (kubelet behaviour, 13.3 and 13.4)."""

from podherd.volumes import atomic, directory, ownership
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import is_mount
from podherd.volumes.ready import Ready, Site


def place(site: Site, plugin: str, name: str, files: atomic.Files) -> Ready:
    """The volume with these files, read-only for containers. Writes what has changed. Raises VolumeError."""
    path = f"{site.pod_dir}/volumes/{plugin}/{name}"
    try:
        path = directory.make(site, plugin, name)
        if not is_mount(path):
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
