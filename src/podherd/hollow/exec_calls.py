"""ExecSync, scripted; the streaming calls, which a node of records does not have."""

import asyncio
from collections.abc import Awaitable

from cri_api.v1 import api_pb2 as api

from podherd.hollow.behaviour import Behaviour
from podherd.hollow.door import Call
from podherd.hollow.records import RUNNING, STATE_NAMES
from podherd.hollow.refusal import RefusedError
from podherd.hollow.runtime import Runtime

_LACKING = (
    "Exec", "Attach", "PortForward", "CheckpointContainer", "ListMetricDescriptors", "ListPodSandboxMetrics",
)  # fmt: skip


class ExecCalls:
    """`exec-exit-code`, `exec-stdout`, `exec-stderr`, `exec-delay`, `exec-error` say what every command does."""

    def __init__(self, runtime: Runtime) -> None:
        self._ledger = runtime.ledger

    def table(self) -> dict[str, Call]:
        """By the CRI's names."""
        return {"ExecSync": self.exec_sync} | {method: _lacking(method) for method in _LACKING}

    def exec_sync(self, request: bytes) -> bytes | Awaitable[bytes]:
        """ExecSync in a running container; exit code 0 and no output where nothing is scripted."""
        message = api.ExecSyncRequest.FromString(request)
        container = self._ledger.container(message.container_id)
        if container is None:
            missing = f'failed to find container "{message.container_id}" in store: not found'
            raise RefusedError("NOT_FOUND", f"failed to exec in container: {missing}")
        if container.state != RUNNING:
            state = STATE_NAMES[container.state]
            raise RefusedError("UNKNOWN", f"failed to exec in container: container is in {state} state")
        behaviour = self._ledger.behaviour(container.sandbox, container)
        return _later(behaviour, message.timeout) if behaviour.exec_delay_s else _outcome(behaviour)


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
