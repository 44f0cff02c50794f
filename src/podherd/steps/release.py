"""Step 9, and the first part of the last deed: a pod of which nothing runs gives back its cgroup and volumes (2.5).

Its hosts file and its containers' last words stay, with its dead containers and logs.
"""

import os

from podherd.machines.pod.events import StepFailed
from podherd.steps import cgroup, persistent
from podherd.steps.context import Context
from podherd.volumes.errors import VolumeError
from podherd.volumes.removal import has_volumes, remove_tree, unmount_own

LAST_WORDS = "containers"
"""The one directory of a pod that holds no volumes."""


class Release:
    """Idempotent. Does nothing as long as anything before it failed: what runs still needs its files."""

    name = "release"

    async def do(self, context: Context) -> None:
        """Release the pod where the plan says so, also as a part of clearing it away."""
        if not context.plan.only_clears or any(isinstance(result, StepFailed) for result in context.results):
            return
        try:
            cgroup.remove(context)
            if has_volumes(context.pod_dir):
                await persistent.release(context)
                await context.in_thread(_remove_volumes, context.pod_dir)
        except VolumeError as error:
            failed(context, self.name, error)
        except OSError as error:
            context.fail(self.name, str(VolumeError(str(error.filename), str(error.strerror))))


def failed(context: Context, step: str, error: VolumeError) -> None:
    """What a user can mend is an event too."""
    context.warn("FailedCleanUp", str(error))
    context.fail(step, str(error))


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
