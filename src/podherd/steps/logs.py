"""Log directories, the attempt that log files remember, and the links in `containers/` (kubelet behaviour, 3.10)."""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from podherd.model.keys import full_name
from podherd.model.log_names import attempt_of
from podherd.steps.context import Context
from podherd.steps.files import ensure_dir

_NAME_MAX = 255


def prepare(log_dir: str, container: str, planned: int) -> int:
    """Make the container's log directory; the attempt to use, at least `planned`. Raises OSError.

    Log files number attempts, so when the runtime has forgotten a container its files are the remaining record:
    the next attempt is one above the highest (case STATE-3). A directory made just now holds none.
    """
    path = f"{log_dir}/{container}"
    if ensure_dir(path, 0o755):
        return planned
    return max(planned, floor(os.listdir(path)))


def floor(names: list[str]) -> int:
    """The least attempt that overwrites none of these log files; other names count for nothing."""
    return 1 + max((attempt for name in names if (attempt := attempt_of(name)) is not None), default=-1)


@cache
def links_dir(pod_logs_dir: Path) -> str:
    """Where the links for log collectors stand: `containers`, beside the pods' log directory."""
    return os.fspath(pod_logs_dir.parent / "containers")


def link_name(namespace: str, pod: str, container: str, container_id: str) -> str:
    """`<pod>_<ns>_<container>-<id>.log`, cut to what a file system takes."""
    return f"{full_name(pod, namespace)}_{container}-{container_id}"[: _NAME_MAX - 4] + ".log"


def link(context: Context, container: str, container_id: str, attempt: int) -> None:
    """Link to the container's log; a failure costs log collectors a file and nothing else."""
    sync = context.sync
    directory = links_dir(context.settings.pod_logs_dir)
    path = f"{directory}/{link_name(sync.namespace, sync.name, container, container_id)}"
    target = f"{context.log_dir}/{container}/{attempt}.log"
    with suppress(OSError):
        try:
            os.symlink(target, path)
        except FileNotFoundError:
            os.makedirs(directory, 0o755, exist_ok=True)
            os.symlink(target, path)


def names_of(context: Context) -> list[str]:
    """The names a container of this pod may have; without its spec, those that have a log directory."""
    if (pod := context.sync.pod) is not None:
        return [container.name for container in pod.every_container]
    try:
        return os.listdir(context.log_dir)
    except OSError:
        return []


def unlink(context: Context, names: list[str], container_id: str) -> None:
    """Remove the link of a container known by id alone."""
    sync = context.sync
    directory = links_dir(context.settings.pod_logs_dir)
    for name in names:
        with suppress(OSError):
            os.unlink(f"{directory}/{link_name(sync.namespace, sync.name, name, container_id)}")


def unlink_all(context: Context) -> None:
    """Remove every link into the pod's log directory; for one whose containers the runtime has forgotten. Blocking."""
    sync = context.sync
    begin, inside = f"{full_name(sync.name, sync.namespace)}_", f"{context.log_dir}/"
    with suppress(OSError), os.scandir(links_dir(context.settings.pod_logs_dir)) as entries:
        for entry in entries:
            if entry.name.startswith(begin):
                with suppress(OSError):
                    if os.readlink(entry.path).startswith(inside):
                        os.unlink(entry.path)
