"""Step 4: the pod's data directory, 0750, and its log directory, 0755 (kubelet behaviour, 3.10 and 13.2)."""

from podherd.steps.context import Context
from podherd.steps.files import ensure_dir


class Dirs:
    """Halts the sync when a directory cannot be made: nothing of the pod could stand anywhere."""

    name = "dirs"

    async def do(self, context: Context) -> None:
        """Make them when the plan makes or starts something."""
        if not context.starts:
            return
        try:
            ensure_dir(context.pod_dir, 0o750)
            ensure_dir(context.log_dir, 0o755)  # whose name says whose the other is (steps/left_behind.py)
            ensure_dir(f"{context.pod_dir}/containers", 0o750)
        except OSError as error:
            event, words = _told(context, error)
            context.warn(event, words)
            context.fail(self.name, words)


def _told(context: Context, error: OSError) -> tuple[str, str]:
    """An event's reason and text. The log directory, whose name may be too long, the kubelet makes with the sandbox."""
    if error.filename == context.log_dir:
        why = f"mkdir {error.filename}: {str(error.strerror).lower()}"
        return "FailedCreatePodSandBox", f"Failed to create pod sandbox: {why}"
    words = f"error making pod data directories: {error.strerror}: {error.filename}"
    return "FailedToMakePodDataDirectories", words
