"""Lifecycle hooks: run one v1.LifecycleHandler of a container (kubelet behaviour, section 3.8).

A hook has no time limit of its own; whoever runs it bounds it. Its output is told in statuses and never in events.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import orjson

from podherd.errors import CriError, PodherdError
from podherd.model import keys
from podherd.model.pod import Body
from podherd.steps.context import Context

OUTPUT_MAX = 1024
"""So many bytes of a failed command's output are told."""


class HookError(PodherdError):
    """A hook failed; `thing` is the hook and whose it is. gone: its container is not there any more."""

    gone = False

    @property
    def text(self) -> str:
        """In the kubelet's words."""
        return f"{self.thing} failed - error: {self.reason}"


@dataclass(frozen=True, slots=True)
class Target:
    """The container of a hook. hook: `postStart` or `preStop`. ip: its pod's address, empty when unknown.

    ports: its v1.ContainerPorts; None: not known here, the container's annotations tell them.
    """

    hook: str
    id: str
    name: str
    ip: str
    ports: Sequence[Mapping[str, Any]] | None = None


async def run(context: Context, handler: Body, target: Target) -> None:
    """Run it to its end. Raises HookError."""
    if (action := handler.get("exec")) is not None:
        await _exec(context, list(action.get("command") or ()), target)
    elif (action := handler.get("httpGet")) is not None:
        await context.noted(f"{target.hook} httpGet", target.name, _http_get(context, action, target))
    elif (action := handler.get("sleep")) is not None:
        await context.noted(f"{target.hook} sleep", target.name, asyncio.sleep(action.get("seconds") or 0))
    else:
        kind = next(iter(handler), "nothing")
        raise HookError(_named(context, f"Lifecycle hook ({kind})", target), "invalid handler")


def _named(context: Context, hook: str, target: Target) -> str:
    sync = context.sync
    return f'{hook} for Container "{target.name}" in Pod "{sync.name}_{sync.namespace}({sync.uid})"'


async def _exec(context: Context, command: list[str], target: Target) -> None:
    """No time limit is given to the runtime: breaking the call off ends the process."""
    thing = _named(context, f"Exec lifecycle hook ([{' '.join(command)}])", target)
    try:
        reply = await context.cri.exec_sync(target.id, command)
    except CriError as error:
        failure = HookError(thing, f'{error.reason}, message: ""')
        failure.gone = error.code == "NOT_FOUND"
        raise failure from error
    if reply.exit_code:
        said = (reply.stdout + reply.stderr)[-OUTPUT_MAX:].decode(errors="replace")
        stderr = reply.stderr[-OUTPUT_MAX:].decode(errors="replace")
        reason = f"command '{' '.join(command)}' exited with {reply.exit_code}: {stderr}, message: \"{said}\""
        raise HookError(thing, reason)


async def _http_get(context: Context, action: Body, target: Target) -> None:
    thing = _named(context, f"HTTP lifecycle hook ({action.get('path') or ''})", target)
    try:
        host = action.get("host") or target.ip
        if not host:
            raise HookError(thing, "the pod has no address yet")
        port = await _port(context, thing, action["port"], target)
        client = await context.in_thread(_http_client)
        fell_back: bool = await client.get(action, host, port)
    except (CriError, OSError, ValueError) as error:
        raise HookError(thing, error.reason if isinstance(error, CriError) else str(error)) from error
    if fell_back:
        said = f"request to HTTPS lifecycle hook {host}:{port} got HTTP response, retry with HTTP succeeded"
        context.warn("LifecycleHTTPFallback", said)


def _http_client() -> ModuleType:
    """Loaded by the first hook that needs it, beside the loop: it is 10 MiB and a tenth of a second in every shard."""
    from podherd.steps import http_get

    return http_get


async def _port(context: Context, thing: str, port: int | str, target: Target) -> int:
    """The number of a port that is given by number, by its digits, or by its name in the container's ports."""
    if isinstance(port, int) or port.isdecimal():
        return int(port)
    ports = target.ports
    if ports is None:
        status = await context.cri.container_status(target.id)
        ports = orjson.loads(status.annotations.get(keys.CONTAINER_PORTS) or b"[]")
    for each in ports:
        if each.get("name") == port:
            return int(each["containerPort"])
    raise HookError(thing, f'the container has no port named "{port}"')
