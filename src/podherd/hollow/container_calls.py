"""The container half of runtime.v1.RuntimeService, over encoded requests and replies."""

import asyncio
from collections.abc import Awaitable

import orjson
from cri_api.v1 import api_pb2 as api

from podherd.hollow import logfile, stats
from podherd.hollow.door import Call
from podherd.hollow.encode import block
from podherd.hollow.http2 import Reply
from podherd.hollow.ledger import carries
from podherd.hollow.pace import DONE, paced
from podherd.hollow.records import RUNNING, STATE_NAMES, Container
from podherd.hollow.refusal import RefusedError
from podherd.hollow.requests import id_in, id_reply, marked, status_reply, verbose_in
from podherd.hollow.runtime import Runtime
from podherd.hollow.timers import Timer

_EMPTY_FILTERS = (b"", b"\x0a\x00")


class ContainerCalls:
    """Each method is one CRI call; one that is not scripted to wait answers at once.

    `log_dir_writes`: every container with a log path makes its log file, as under a real runtime; else only those
    that are scripted to write.
    """

    def __init__(self, runtime: Runtime, log_dir_writes: bool = False) -> None:
        self._ledger = runtime.ledger
        self._containers = runtime.containers
        self._log_dir_writes = log_dir_writes

    def table(self) -> dict[str, Call]:
        """By the CRI's names."""
        return {
            "CreateContainer": self.create,
            "StartContainer": self.start,
            "StopContainer": self.stop,
            "RemoveContainer": self.remove,
            "ContainerStatus": self.status,
            "ListContainers": self.listed,
            "UpdateContainerResources": self.update_resources,
            "ReopenContainerLog": self.reopen_log,
            "ContainerStats": self.stats,
            "ListContainerStats": self.list_stats,
        }

    def create(self, request: bytes) -> bytes | Awaitable[bytes]:
        """CreateContainer; `create-delay`, `create-error`."""
        container = self._containers.reserve(api.CreateContainerRequest.FromString(request), marked(request))
        try:
            behaviour = self._ledger.behaviour(container.sandbox, container)
            if not behaviour.create_delay_s and not behaviour.create_error:
                return self._created(container)
        except Exception:
            self._containers.abandon(container)
            raise
        refusal = RefusedError(behaviour.error_code, behaviour.create_error) if behaviour.create_error else None
        undo = self._containers.abandon
        return paced(behaviour.create_delay_s, refusal, lambda: self._created(container), lambda _: undo(container))

    def _created(self, container: Container) -> bytes:
        self._containers.commit(container)
        return id_reply(container.id)

    def start(self, request: bytes) -> bytes | Awaitable[bytes]:
        """StartContainer; `start-delay`, `start-error`, `log`, `log-lines`, `last-words`."""
        container = self._containers.begin_start(id_in(request))
        behaviour = self._ledger.behaviour(container.sandbox, container)
        if not behaviour.start_delay_s and not behaviour.start_error:
            return self._started(container)
        refusal = None
        if behaviour.start_error:
            refusal = RefusedError(behaviour.error_code, f"failed to create containerd task: {behaviour.start_error}")
        fail = self._containers.fail_start
        deed = lambda: self._started(container)  # noqa: E731
        return paced(behaviour.start_delay_s, refusal, deed, lambda error: fail(container, error))

    def _started(self, container: Container) -> bytes:
        if container.log_path:
            self._write_log(container)
        if words := self._ledger.behaviour(container.sandbox, container).last_words:
            logfile.write_last_words(container.status(), words)
        self._containers.commit_start(container)
        return DONE

    def _write_log(self, container: Container) -> None:
        behaviour = self._ledger.behaviour(container.sandbox, container)
        if behaviour.log_lines or behaviour.log or self._log_dir_writes:
            said = logfile.scripted(behaviour.log_lines, behaviour.log, self._ledger.now_ns())
            try:
                logfile.append(container.log_path, said)
            except OSError as error:
                reason = f"failed to create container loggers: failed to create and open log file: {error}"
                refusal = RefusedError("UNKNOWN", f"failed to create containerd task: {reason}")
                self._containers.fail_start(container, refusal)
                raise refusal from error

    def stop(self, request: bytes) -> bytes | Awaitable[bytes]:
        """StopContainer: answers at the exit; `stop`, `stop-delay`."""
        message = api.StopContainerRequest.FromString(request)
        exited = asyncio.Event()
        kill = self._containers.stop(message.container_id, message.timeout, exited.set)
        return DONE if kill is None else _at_exit(exited, kill)

    def remove(self, request: bytes) -> bytes:
        """RemoveContainer."""
        self._containers.remove(id_in(request))
        return DONE

    def status(self, request: bytes) -> bytes | Awaitable[bytes]:
        """ContainerStatus; `inspect-hang`."""
        container = self._containers.get(id_in(request))
        if hang_s := self._ledger.behaviour(container.sandbox, container).inspect_hang_s:
            return paced(hang_s, None, lambda: self._status(self._containers.get(container.id), request))
        return self._status(container, request)

    def _status(self, container: Container, request: bytes) -> bytes:
        if not verbose_in(request):
            return status_reply(container.status())
        info = {"sandboxID": container.sandbox.id, "pid": 0, "removing": False, "runtimeType": "hollow"}
        return status_reply(container.status(), orjson.dumps(info).decode())

    def listed(self, request: bytes) -> Reply:
        """ListContainers: without a filter the ready-made reply."""
        if request in _EMPTY_FILTERS:
            return self._ledger.container_list.reply()
        return self._containers.listed(api.ListContainersRequest.FromString(request).filter)

    def update_resources(self, request: bytes) -> bytes:
        """UpdateContainerResources."""
        message = api.UpdateContainerResourcesRequest.FromString(request)
        self._containers.update_resources(message.container_id, message.linux)
        return DONE

    def reopen_log(self, request: bytes) -> bytes:
        """ReopenContainerLog: the file is there afterwards (a rotated one was renamed before)."""
        container = self._containers.get(id_in(request))
        if container.state != RUNNING:
            raise RefusedError("UNKNOWN", "container is not running")
        if container.log_path:
            try:
                logfile.append(container.log_path, "")
            except OSError as error:
                raise RefusedError("UNKNOWN", f"failed to create and open log file: {error}") from error
        return DONE

    def stats(self, request: bytes) -> bytes:
        """ContainerStats of a running container."""
        container = self._ledger.container(id_in(request))
        if container is None:
            raise RefusedError("NOT_FOUND", "failed to find container: not found")
        made = stats.container_stats([container], self._ledger.now_ns())
        if not made:
            state = STATE_NAMES[container.state]
            raise RefusedError("UNKNOWN", f"unexpected metrics response: [] (the container is in {state})")
        return block(b"\x0a", made[0])

    def list_stats(self, request: bytes) -> bytes:
        """ListContainerStats of running containers."""
        wanted = api.ListContainerStatsRequest.FromString(request).filter
        selector = list(wanted.label_selector.items())
        found = [
            container
            for container in self._ledger.containers.values()
            if container.id.startswith(wanted.id)
            and container.sandbox.id.startswith(wanted.pod_sandbox_id)
            and carries(container.labels, selector)
        ]
        return b"".join([block(b"\x0a", one) for one in stats.container_stats(found, self._ledger.now_ns())])


async def _at_exit(exited: asyncio.Event, kill: Timer) -> bytes:
    """Wait for the exit; over or given up, this call's kill is off."""
    try:
        await exited.wait()
    finally:
        kill.cancel()
    return DONE
