"""Step 9, the last deed for a pod: cgroup, mounts, directories and logs (kubelet behaviour, 2.5 and 13.7)."""

import os

from podherd.machines.pod.events import StepFailed
from podherd.steps import cgroup, logs
from podherd.steps.context import Context
from podherd.volumes.errors import VolumeError
from podherd.volumes.removal import has_volumes, remove_tree, unmount_own

LAST_WORDS = "containers"
"""The one directory of a pod that holds no volumes."""


class CleanUp:
    """Idempotent. Does nothing as long as anything before it failed: what runs still needs its files."""

    name = "clean_up"

    async def do(self, context: Context) -> None:
        """Remove everything: what is small at once, volumes and whatever holds much or large files in a thread."""
        if not context.plan.clean_up or any(isinstance(result, StepFailed) for result in context.results):
            return
        try:
            cgroup.remove(context)
            if has_volumes(context.pod_dir):
                await context.in_thread(_remove_volumes, context.pod_dir)
            if not context.plan.remove_containers:
                await context.in_thread(logs.unlink_all, context)
            # The name goes before the last of the data directory: what a crash leaves is known (left_behind).
            for directory in (context.log_dir, context.pod_dir):
                if not remove_tree(directory, quick=True):
                    await context.in_thread(remove_tree, directory)
        except VolumeError as error:
            context.warn("FailedCleanUp", str(error))
            context.fail(self.name, str(error))
        except OSError as error:
            context.fail(self.name, str(VolumeError(str(error.filename), str(error.strerror))))


def _remove_volumes(pod_dir: str) -> None:
    """All directories in it but that of the containers' last words."""
    unmount_own(pod_dir)
    for name in _directories(pod_dir):
        if name != LAST_WORDS:
            remove_tree(f"{pod_dir}/{name}")


def _directories(pod_dir: str) -> list[str]:
    """The directories in the pod's own, which is no symlink. Raises OSError."""
    fd = os.open(pod_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        with os.scandir(fd) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    finally:
        os.close(fd)
