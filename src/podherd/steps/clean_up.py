"""Step 10, the last deed for a pod, once it is released: its directories and logs (kubelet behaviour, 2.5 and 13.7)."""

from podherd.machines.pod.events import StepFailed
from podherd.steps import logs
from podherd.steps.context import Context
from podherd.steps.release import failed
from podherd.volumes.errors import VolumeError
from podherd.volumes.removal import remove_tree


class CleanUp:
    """Idempotent. Does nothing as long as anything before it failed."""

    name = "clean_up"

    async def do(self, context: Context) -> None:
        """Remove everything: what is small at once, whatever holds much or large files in a thread."""
        if not context.plan.clean_up or any(isinstance(result, StepFailed) for result in context.results):
            return
        try:
            if not context.plan.remove_containers:
                await context.in_thread(logs.unlink_all, context)
            # The name goes before the last of the data directory: what a crash leaves is known (left_behind).
            for directory in (context.log_dir, context.pod_dir):
                if not remove_tree(directory, quick=True):
                    await context.in_thread(remove_tree, directory)
        except VolumeError as error:
            failed(context, self.name, error)
        except OSError as error:
            context.fail(self.name, str(VolumeError(str(error.filename), str(error.strerror))))
