"""Step 1: stop the containers that the plan names, in parallel, each in its own grace (kubelet behaviour, 3.8).

The preStop hook runs at once; a sidecar then waits for its turn; what is left of the grace, at least MIN_STOP_S, is
StopContainer's. So nothing lives longer than its grace and MIN_STOP_S (case TERM-1).
"""

import asyncio
from collections.abc import Iterable

from podherd.errors import CriError
from podherd.machines.pod.events import HookEnded
from podherd.machines.pod.instructions import KillContainer
from podherd.model.pod import Container
from podherd.steps import hooks
from podherd.steps.context import Context

NOT_FOUND = "NOT_FOUND"
MIN_STOP_S = 2
"""What StopContainer is given at least."""
MAX_STOP_S = 10 * 365 * 86400
"""And at most: the API allows graces that runtimes, which count nanoseconds, cannot hold."""
FAILED_HOOK = "FailedPreStopHook"


class Kill:
    """A container that is already gone counts as stopped; one that cannot be stopped halts the sync."""

    name = "kill"

    async def do(self, context: Context) -> None:
        """Stop each; a cancel (a shorter grace is wanted) breaks hooks and waits off at once."""
        kills = context.plan.kill
        if not kills:
            return
        context.did = True
        if len(kills) == 1:
            await stop(context, kills[0])
            return
        turns = Turns(kills)
        ends = await asyncio.gather(*(_in_turn(context, kill, turns) for kill in kills), return_exceptions=True)
        for error in ends:
            if error is not None:
                raise error


class Turns:
    """Which of the kills that others wait for have ended, and whether by a dead container."""

    def __init__(self, kills: Iterable[KillContainer]) -> None:
        kills = tuple(kills)
        awaited = {ident for kill in kills for ident in kill.after}
        loop = asyncio.get_running_loop()
        self._ends: dict[str, asyncio.Future[bool]] = {
            kill.id: loop.create_future() for kill in kills if kill.id in awaited
        }

    def ended(self, ident: str, dead: bool) -> None:
        """This kill is over; `dead`: and so is its container."""
        if (end := self._ends.get(ident)) is not None and not end.done():
            end.set_result(dead)

    async def wait(self, ids: Iterable[str], limit_s: float) -> bool:
        """Until all have ended or the time is up; False when one of them is known to live on."""
        ends = [end for ident in ids if (end := self._ends.get(ident)) is not None]
        if not ends:
            return True
        done, _ = await asyncio.wait(ends, timeout=max(0.0, limit_s))
        return all(end.result() for end in done)


async def _in_turn(context: Context, kill: KillContainer, turns: Turns) -> None:
    dead = False
    try:
        dead = await stop(context, kill, turns)
    finally:
        turns.ended(kill.id, dead)


async def stop(context: Context, kill: KillContainer, turns: Turns | None = None) -> bool:
    """Stop one container; whether it is dead. A failure is told to the context.

    A sidecar for which another container should make way, and does not, is left alone while it has grace: the kill is
    tried again as a whole.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + min(kill.grace_s, MAX_STOP_S)
    context.normal("Killing", kill.message, _field_of(context, kill.name))
    if kill.hook is not None:
        await _run_hook(context, kill, deadline)
    if kill.after and turns is not None:
        made_way = await turns.wait(kill.after, deadline - clock())
        if not made_way and deadline - clock() > MIN_STOP_S:
            return False
    return await _stop_container(context, kill, max(MIN_STOP_S, round(deadline - clock())))


async def _run_hook(context: Context, kill: KillContainer, deadline: float) -> None:
    """To its end or the grace's; however it ends, it is not to run again."""
    field, container = _field_of(context, kill.name), _container(context, kill.name)
    ports = container.body.get("ports") or [] if container is not None else None
    target = hooks.Target("preStop", kill.id, kill.name, kill.ip, ports)
    try:
        async with asyncio.timeout_at(deadline):
            await hooks.run(context, kill.hook or {}, target)
    except hooks.HookError as error:
        if not error.gone:
            context.warn(FAILED_HOOK, "PreStopHook failed", field)
    except TimeoutError:
        said = f"PreStopHook did not finish within the grace period of {kill.grace_s} s"
        context.warn(FAILED_HOOK, said, field)
    except asyncio.CancelledError:
        if context.cancelled:
            context.warn(FAILED_HOOK, "PreStopHook did not finish before the grace period was cut short", field)
        raise
    finally:
        context.add(HookEnded(kill.id))


async def _stop_container(context: Context, kill: KillContainer, grace_s: int) -> bool:
    try:
        await context.cri.stop_container(kill.id, grace_s)
    except CriError as error:
        if error.code != NOT_FOUND:
            context.fail("kill", f'container "{kill.name}": {error.reason}')
            context.warn("FailedKillPod", f"error killing pod: {error.reason}")
            return False
    return True


def _container(context: Context, name: str) -> Container | None:
    """None where the spec has no such container (any more)."""
    pod = context.sync.pod
    return next((one for one in pod.every_container if one.name == name), None) if pod is not None else None


def _field_of(context: Context, name: str) -> str:
    """The field path of an event about a container, also for one that the spec no longer has."""
    container = _container(context, name)
    return container.field_path if container is not None else f"spec.containers{{{name}}}"
