"""Performs a plan: the steps in order, to the first that halts. Always one Synced, never an exception of a deed."""

import asyncio
from collections.abc import Sequence

from podherd.errors import PodherdError
from podherd.machines.pod.events import Synced
from podherd.steps.context import Context, Step
from podherd.steps.order import STEPS


async def perform(context: Context, steps: Sequence[Step] = STEPS) -> Synced:
    """Do the context's plan as this task. Raises only for a cancel that is not the machine's: the actor ends."""
    context.task = asyncio.current_task()
    try:
        for step in steps:
            context.check()
            await _attempt(step, context)
            if context.halted:
                break
    except asyncio.CancelledError:
        if not context.cancelled:
            raise
    sync = context.sync
    ended_at = context.tools.clock()
    return Synced(sync.uid, sync.plan_id, ended_at, tuple(context.results), context.did, context.cancelled)


async def _attempt(step: Step, context: Context) -> None:
    try:
        await step.do(context)
    except PodherdError as error:
        context.fail(step.name, str(error))
    except Exception as error:
        context.tools.unexpected(step.name, error)
        context.fail(step.name, f"{type(error).__name__}: {error}")
