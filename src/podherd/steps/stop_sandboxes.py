"""Step 2: stop pod sandboxes, and with them whatever still runs inside and their network."""

from podherd.errors import CriError
from podherd.steps.context import Context
from podherd.steps.kill import NOT_FOUND


class StopSandboxes:
    """A sandbox that cannot be stopped halts the sync: no second one may stand beside it."""

    name = "stop"

    async def do(self, context: Context) -> None:
        """StopPodSandbox for each, newest first as the plan has them."""
        if not context.plan.stop_sandboxes:
            return
        for sandbox_id in context.plan.stop_sandboxes:
            context.check()
            try:
                await context.change(context.cri.stop_sandbox(sandbox_id))
            except CriError as error:
                if error.code != NOT_FOUND:
                    context.fail(self.name, error.reason)
                    context.warn("FailedKillPod", f"error killing pod: {error.reason}")
