"""Step 1: stop the containers that the plan names, in parallel, each with its own grace (kubelet behaviour, 3.8)."""

import asyncio

from podherd.errors import CriError
from podherd.machines.pod.instructions import KillContainer
from podherd.steps.context import FIELDS, Context

NOT_FOUND = "NOT_FOUND"


class Kill:
    """A container that is already gone counts as stopped; one that cannot be stopped halts the sync."""

    name = "kill"

    async def do(self, context: Context) -> None:
        """StopContainer for each; a cancel (a shorter grace is wanted) breaks the waiting off at once."""
        kills = context.plan.kill
        if not kills:
            return
        context.did = True
        if len(kills) == 1:
            await _stop(context, kills[0])
            return
        ends = await asyncio.gather(*(_stop(context, kill) for kill in kills), return_exceptions=True)
        for error in ends:
            if error is not None:
                raise error


async def _stop(context: Context, kill: KillContainer) -> None:
    context.normal("Killing", kill.message, field_of(context, kill.name))
    try:
        await context.cri.stop_container(kill.id, kill.grace_s)
    except CriError as error:
        if error.code != NOT_FOUND:
            context.fail("kill", f'container "{kill.name}": {error.reason}')
            context.warn("FailedKillPod", f"error killing pod: {error.reason}")


def field_of(context: Context, name: str) -> str:
    """The field path of an event about a container, also for one that the spec no longer has."""
    pod = context.sync.pod
    for container in (*pod.containers, *pod.init_containers) if pod is not None else ():
        if container.name == name:
            return f"{FIELDS[container.kind]}{{{name}}}"
    return f"spec.containers{{{name}}}"
