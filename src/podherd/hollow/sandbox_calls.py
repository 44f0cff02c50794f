"""The sandbox half of runtime.v1.RuntimeService, over encoded requests and replies."""

from collections.abc import Awaitable

import orjson
from cri_api.v1 import api_pb2 as api

from podherd.hollow import stats
from podherd.hollow.door import Call
from podherd.hollow.encode import block
from podherd.hollow.http2 import Reply
from podherd.hollow.ledger import carries
from podherd.hollow.pace import DONE, paced
from podherd.hollow.records import Sandbox
from podherd.hollow.refusal import RefusedError
from podherd.hollow.requests import id_in, id_reply, marked, status_reply, verbose_in
from podherd.hollow.runtime import Runtime

_EMPTY_FILTERS = (b"", b"\x0a\x00")
"""A list request without a filter, or with one that says nothing."""


class SandboxCalls:
    """Each method is one CRI call; one that is not scripted to wait answers at once."""

    def __init__(self, runtime: Runtime) -> None:
        self._ledger = runtime.ledger
        self._sandboxes = runtime.sandboxes

    def table(self) -> dict[str, Call]:
        """By the CRI's names."""
        return {
            "RunPodSandbox": self.run,
            "StopPodSandbox": self.stop,
            "RemovePodSandbox": self.remove,
            "PodSandboxStatus": self.status,
            "ListPodSandbox": self.listed,
            "PodSandboxStats": self.stats,
            "ListPodSandboxStats": self.list_stats,
            "UpdatePodSandboxResources": self.update_resources,
        }

    def run(self, request: bytes) -> bytes | Awaitable[bytes]:
        """RunPodSandbox; `sandbox-delay`, `sandbox-error`."""
        sandbox = self._sandboxes.reserve(api.RunPodSandboxRequest.FromString(request), marked(request))
        try:
            behaviour = self._ledger.behaviour(sandbox)
        except Exception:
            self._sandboxes.abandon(sandbox)
            raise
        if not behaviour.sandbox_delay_s and not behaviour.sandbox_error:
            return self._ran(sandbox)
        refusal = None
        if behaviour.sandbox_error:
            what = f'failed to setup network for sandbox "{sandbox.id}": {behaviour.sandbox_error}'
            refusal = RefusedError(behaviour.error_code, what)
        undo = self._sandboxes.abandon
        return paced(behaviour.sandbox_delay_s, refusal, lambda: self._ran(sandbox), lambda _refusal: undo(sandbox))

    def _ran(self, sandbox: Sandbox) -> bytes:
        self._sandboxes.commit(sandbox)
        return id_reply(sandbox.id)

    def stop(self, request: bytes) -> bytes | Awaitable[bytes]:
        """StopPodSandbox; `sandbox-stop-delay`."""
        sandbox_id = id_in(request)
        sandbox = self._ledger.sandbox(sandbox_id)
        if sandbox is not None and (delay_s := self._ledger.behaviour(sandbox).sandbox_stop_delay_s):
            return paced(delay_s, None, lambda: self._stopped(sandbox_id))
        return self._stopped(sandbox_id)

    def _stopped(self, sandbox_id: str) -> bytes:
        self._sandboxes.stop(sandbox_id)
        return DONE

    def remove(self, request: bytes) -> bytes:
        """RemovePodSandbox."""
        self._sandboxes.remove(id_in(request))
        return DONE

    def status(self, request: bytes) -> bytes | Awaitable[bytes]:
        """PodSandboxStatus; `inspect-hang`."""
        sandbox = self._sandboxes.get(id_in(request))
        if hang_s := self._ledger.behaviour(sandbox).inspect_hang_s:
            return paced(hang_s, None, lambda: self._status(self._sandboxes.get(sandbox.id), request))
        return self._status(sandbox, request)

    def _status(self, sandbox: Sandbox, request: bytes) -> bytes:
        if not verbose_in(request):
            return status_reply(sandbox.status())
        info = {"pid": 0, "processStatus": "running" if sandbox.ready else "deleted", "runtimeType": "hollow"}
        return status_reply(sandbox.status(), orjson.dumps(info).decode())

    def listed(self, request: bytes) -> Reply:
        """ListPodSandbox: without a filter the ready-made reply."""
        if request in _EMPTY_FILTERS:
            return self._ledger.sandbox_list.reply()
        return self._sandboxes.listed(api.ListPodSandboxRequest.FromString(request).filter)

    def stats(self, request: bytes) -> bytes:
        """PodSandboxStats."""
        return block(b"\x0a", stats.sandbox_stats(self._sandboxes.get(id_in(request)), self._ledger.now_ns()))

    def list_stats(self, request: bytes) -> bytes:
        """ListPodSandboxStats of ready sandboxes."""
        wanted = api.ListPodSandboxStatsRequest.FromString(request).filter
        selector = list(wanted.label_selector.items())
        now_ns = self._ledger.now_ns()
        found = [
            sandbox
            for sandbox in self._ledger.sandboxes.values()
            if sandbox.ready and sandbox.id.startswith(wanted.id) and carries(sandbox.labels, selector)
        ]
        return b"".join([block(b"\x0a", stats.sandbox_stats(sandbox, now_ns)) for sandbox in found])

    def update_resources(self, request: bytes) -> bytes:
        """UpdatePodSandboxResources: accepted for a sandbox that is there."""
        self._sandboxes.get(id_in(request))
        return DONE
