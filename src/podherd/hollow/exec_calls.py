"""ExecSync, scripted; Exec and Attach as URLs of the streaming server; what a node of records does not have."""

import asyncio
from collections.abc import Awaitable

from cri_api.v1 import api_pb2 as api

from podherd.cri.streams.remote import Wants
from podherd.hollow.behaviour import Behaviour
from podherd.hollow.door import Call
from podherd.hollow.records import RUNNING, STATE_NAMES, Container
from podherd.hollow.refusal import RefusedError
from podherd.hollow.runtime import Runtime
from podherd.hollow.streaming import StreamServer, Ticket

_LACKING = ("PortForward", "CheckpointContainer", "ListMetricDescriptors", "ListPodSandboxMetrics")


class ExecCalls:
    """`exec-exit-code`, `exec-stdout`, `exec-stderr`, `exec-delay`, `exec-error` say what every command does."""

    def __init__(self, runtime: Runtime, streams: StreamServer) -> None:
        self._ledger = runtime.ledger
        self._streams = streams

    def table(self) -> dict[str, Call]:
        """By the CRI's names."""
        calls: dict[str, Call] = {"ExecSync": self.exec_sync, "Exec": self.exec, "Attach": self.attach}
        return calls | {method: _lacking(method) for method in _LACKING}

    def exec_sync(self, request: bytes) -> bytes | Awaitable[bytes]:
        """ExecSync in a running container; exit code 0 and no output where nothing is scripted."""
        message = api.ExecSyncRequest.FromString(request)
        behaviour = self._behaviour(self._running(message.container_id, "exec in"))
        return _later(behaviour, message.timeout) if behaviour.exec_delay_s else _outcome(behaviour)

    async def exec(self, request: bytes) -> bytes:
        """Exec: where a command of `pretend` can be run with streams."""
        message = api.ExecRequest.FromString(request)
        _check(message)
        container = self._running(message.container_id, "exec in")
        url = await self._streams.url(
            Ticket(container, tuple(message.cmd), _wants(message), self._behaviour(container))
        )
        return api.ExecResponse(url=url).SerializeToString()

    async def attach(self, request: bytes) -> bytes:
        """Attach: where the container's own streams are; it repeats what it is told on stdin until it exits."""
        message = api.AttachRequest.FromString(request)
        _check(message)
        container = self._running(message.container_id, "attach to")
        url = await self._streams.url(Ticket(container, (), _wants(message), self._behaviour(container)))
        return api.AttachResponse(url=url).SerializeToString()

    def _behaviour(self, container: Container) -> Behaviour:
        return self._ledger.behaviour(container.sandbox, container)

    def _running(self, container_id: str, deed: str) -> Container:
        container = self._ledger.container(container_id)
        if container is None:
            missing = f'failed to find container "{container_id}" in store: not found'
            raise RefusedError("NOT_FOUND", f"failed to {deed} container: {missing}")
        if container.state != RUNNING:
            state = STATE_NAMES[container.state]
            raise RefusedError("UNKNOWN", f"failed to {deed} container: container is in {state} state")
        return container


def _wants(message: api.ExecRequest | api.AttachRequest) -> Wants:
    return Wants(stdin=message.stdin, stdout=message.stdout, stderr=message.stderr, tty=message.tty)


def _check(message: api.ExecRequest | api.AttachRequest) -> None:
    """The kubelet's streaming server refuses these (CRI: a terminal has no stderr)."""
    if message.tty and message.stderr:
        raise RefusedError("INVALID_ARGUMENT", "tty and stderr cannot both be true")
    if not (message.stdin or message.stdout or message.stderr):
        raise RefusedError("INVALID_ARGUMENT", "one of stdin, stdout, or stderr must be set")


async def _later(behaviour: Behaviour, timeout_s: int) -> bytes:
    if 0 < timeout_s < behaviour.exec_delay_s:
        await asyncio.sleep(timeout_s)
        exceeded = f"timeout {timeout_s}s exceeded: context deadline exceeded"
        raise RefusedError("DEADLINE_EXCEEDED", f"failed to exec in container: {exceeded}")
    await asyncio.sleep(behaviour.exec_delay_s)
    return _outcome(behaviour)


def _outcome(behaviour: Behaviour) -> bytes:
    if behaviour.exec_error:
        raise RefusedError(behaviour.error_code, f"failed to exec in container: {behaviour.exec_error}")
    return api.ExecSyncResponse(
        stdout=behaviour.exec_stdout.encode(),
        stderr=behaviour.exec_stderr.encode(),
        exit_code=behaviour.exec_exit_code,
    ).SerializeToString()


def _lacking(method: str) -> Call:
    def refuse(_request: bytes) -> bytes:
        raise RefusedError("UNIMPLEMENTED", f"the hollow runtime has no {method}: its containers are only records")

    return refuse
