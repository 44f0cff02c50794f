"""Step 9, the last deed for a pod: cgroup, mounts, directories and logs (kubelet behaviour, 2.5 and 13.7)."""

import os

from podherd.machines.pod.events import StepFailed
from podherd.steps import cgroup
from podherd.steps.context import Context
from podherd.volumes.errors import VolumeError
from podherd.volumes.removal import remove_tree, unmount_own


class CleanUp:
    """Idempotent. Does nothing as long as anything before it failed: what runs still needs its files."""

    name = "clean_up"

    async def do(self, context: Context) -> None:
        """Remove everything: what is small at once, volumes and whatever holds much or large files in a thread."""
        if not context.plan.clean_up or any(isinstance(result, StepFailed) for result in context.results):
            return
        try:
            cgroup.remove(context)
            if _has_volumes(context.pod_dir):
                await context.in_thread(_remove, context.pod_dir)
            for directory in (context.pod_dir, context.log_dir):
                if not remove_tree(directory, quick=True):
                    await context.in_thread(remove_tree, directory)
        except VolumeError as error:
            context.warn("FailedCleanUp", str(error))
            context.fail(self.name, str(error))
        except OSError as error:
            context.fail(self.name, str(VolumeError(str(error.filename), str(error.strerror))))


def _has_volumes(pod_dir: str) -> bool:
    return os.path.lexists(f"{pod_dir}/volumes")


def _remove(pod_dir: str) -> None:
    unmount_own(pod_dir)
    remove_tree(pod_dir)
