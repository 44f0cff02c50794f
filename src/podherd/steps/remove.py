"""Step 3: remove dead containers and sandboxes from the runtime, and the log links of those containers."""

from collections.abc import Awaitable

from podherd.errors import CriError
from podherd.steps import logs
from podherd.steps.context import Context
from podherd.steps.kill import NOT_FOUND


class Remove:
    """What cannot be removed is reported and tried again; of the steps that follow it holds up only the clean-up."""

    name = "remove"

    async def do(self, context: Context) -> None:
        """RemoveContainer for each, then RemovePodSandbox for each."""
        plan, cri = context.plan, context.cri
        if plan.remove_containers:
            names = logs.names_of(context)
            for container_id in plan.remove_containers:
                context.check()
                if await self._gone(context, cri.remove_container(container_id)):
                    logs.unlink(context, names, container_id)
        for sandbox_id in plan.remove_sandboxes:
            context.check()
            await self._gone(context, cri.remove_sandbox(sandbox_id))

    async def _gone(self, context: Context, call: Awaitable[None]) -> bool:
        try:
            await context.change(call)
        except CriError as error:
            if error.code != NOT_FOUND:
                context.fail(self.name, error.reason, halt=False)
                return False
        return True
