"""What the sandbox calls do to the ledger. Codes and texts are containerd 2's."""

from typing import Any

from cri_api.v1 import api_pb2 as api

from podherd.hollow.containers import KILLED, Containers
from podherd.hollow.ledger import (
    CREATED_EVENT,
    DELETED_EVENT,
    STARTED_EVENT,
    STOPPED_EVENT,
    Ledger,
    carries,
)
from podherd.hollow.records import Sandbox
from podherd.hollow.refusal import RefusedError
from podherd.hollow.script import NO_MARKS, marks_of

HANDLERS = ("", "runc")
"""The runtime handlers there are; the empty name is the default."""


class Sandboxes:
    """RunPodSandbox is `reserve`, then `commit` or `abandon`, so that it may take its time between the two."""

    def __init__(self, ledger: Ledger, containers: Containers) -> None:
        self._ledger = ledger
        self._containers = containers

    def reserve(self, request: api.RunPodSandboxRequest, marked: bool = True) -> Sandbox:
        """A sandbox that is not there yet but holds its name; raises RefusedError.

        `marked`: its annotations may hold some of hollow's.
        """
        config = request.config
        if not config.HasField("metadata"):
            raise RefusedError("UNKNOWN", "sandbox config must include metadata")
        meta = config.metadata
        sandbox = Sandbox(
            id=self._ledger.new_id(),
            reserved=f"{meta.name}_{meta.namespace}_{meta.uid}_{meta.attempt}",
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
            attempt=meta.attempt,
            labels=dict(config.labels),
            marks=marks_of(config.annotations) if marked else NO_MARKS,
            runtime_handler=request.runtime_handler,
            ip="" if config.linux.security_context.namespace_options.network == api.NODE else self._ledger.new_ip(),
        )
        if sandbox.runtime_handler not in HANDLERS:
            none = f'no runtime for "{sandbox.runtime_handler}" is configured'
            raise RefusedError("UNKNOWN", f'unable to get OCI runtime for sandbox "{sandbox.id}": {none}')
        if sandbox.ip and sandbox.marks:
            sandbox.ip = self._ledger.behaviour(sandbox).ip or sandbox.ip
        self._ledger.reserve("sandbox", sandbox.reserved, sandbox.id)
        _encode(sandbox, config, self._ledger.now_ns())
        return sandbox

    def commit(self, sandbox: Sandbox) -> None:
        """The sandbox is there and ready."""
        ledger = self._ledger
        sandbox.ready = True
        ledger.sandboxes[sandbox.id] = sandbox
        ledger.sandbox_list.put(sandbox.id, sandbox.entry())
        ledger.journal.sandbox(ledger.now_ns(), "RunPodSandbox", sandbox)
        ledger.tell(CREATED_EVENT, sandbox.id, sandbox)
        ledger.tell(STARTED_EVENT, sandbox.id, sandbox)

    def abandon(self, sandbox: Sandbox) -> None:
        """It never came to be; the name is free again."""
        self._ledger.release("sandbox", sandbox.reserved)

    def stop(self, sandbox_id: str) -> None:
        """Kill its containers, take its network away, not ready. Harmless again, and for an unknown id."""
        if (sandbox := self._ledger.sandbox(sandbox_id)) is not None:
            self._stop(sandbox)
            self._ledger.journal.sandbox(self._ledger.now_ns(), "StopPodSandbox", sandbox)

    def _stop(self, sandbox: Sandbox) -> None:
        for container in sandbox.containers.values():
            self._containers.exit(container, KILLED)
        sandbox.network_up = False
        self.lose(sandbox)

    def lose(self, sandbox: Sandbox) -> None:
        """The sandbox is not ready any more; its containers and its address are as before."""
        if sandbox.ready:
            sandbox.ready = False
            self._ledger.sandbox_list.put(sandbox.id, sandbox.entry())
            self._ledger.tell(STOPPED_EVENT, sandbox.id, sandbox)

    def remove(self, sandbox_id: str) -> None:
        """Stop it, remove its containers and forget it. Harmless for an unknown id."""
        ledger = self._ledger
        if (sandbox := ledger.sandbox(sandbox_id)) is None:
            return
        self._stop(sandbox)
        for container in list(sandbox.containers.values()):
            self._containers.remove(container.id)
        ledger.tell(DELETED_EVENT, sandbox.id, sandbox)
        del ledger.sandboxes[sandbox.id]
        ledger.sandbox_list.drop(sandbox.id)
        ledger.release("sandbox", sandbox.reserved)
        ledger.journal.sandbox(ledger.now_ns(), "RemovePodSandbox", sandbox)

    def get(self, sandbox_id: str) -> Sandbox:
        """By id. Raises RefusedError as PodSandboxStatus does."""
        if (sandbox := self._ledger.sandbox(sandbox_id)) is None:
            raise RefusedError("NOT_FOUND", "an error occurred when try to find sandbox: not found")
        return sandbox

    def listed(self, wanted: api.PodSandboxFilter) -> bytes:
        """The whole ListPodSandboxResponse of what passes the filter."""
        found = list(self._ledger.sandboxes.values())
        if wanted.id:
            one = self._ledger.sandbox(wanted.id)
            found = [one] if one else []
        if wanted.HasField("state"):
            found = [s for s in found if s.ready == (wanted.state.state == api.SANDBOX_READY)]
        if wanted.label_selector:
            selector = list(wanted.label_selector.items())
            found = [s for s in found if carries(s.labels, selector)]
        return b"".join([self._ledger.sandbox_list.entry(s.id) for s in found])


def _encode(sandbox: Sandbox, config: api.PodSandboxConfig, now_ns: int) -> None:
    sandbox.created_ns = now_ns
    shared: dict[str, Any] = {
        "id": sandbox.id,
        "metadata": config.metadata,
        "created_at": now_ns,
        "labels": config.labels,
        "annotations": config.annotations,
        "runtime_handler": sandbox.runtime_handler,
    }
    sandbox.entry_head = api.PodSandbox(**shared).SerializeToString()
    namespaces = api.Namespace(options=config.linux.security_context.namespace_options)
    linux = api.LinuxPodSandboxStatus(namespaces=namespaces)
    sandbox.status_head = api.PodSandboxStatus(linux=linux, **shared).SerializeToString()
