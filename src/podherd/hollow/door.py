"""The way every unary call goes: counted, led past the faults, answered at once or awaited, refused with a code."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

from google.protobuf.message import DecodeError

from podherd.errors import PodherdError
from podherd.hollow.faults import Fault, Faults
from podherd.hollow.http2 import Reply
from podherd.hollow.journal import Journal, Tally
from podherd.hollow.refusal import RefusedError
from podherd.hollow.script import Subject
from podherd.hollow.timers import ClockNs

Call: TypeAlias = Callable[[bytes], Reply | Awaitable[Reply]]
"""Takes an encoded request; the reply, or something to wait for. Raises RefusedError or ConfigError."""
Describe: TypeAlias = Callable[[str, bytes], Subject]
"""Whom a call of this method is about; asked only where a call is faulted, waits or is refused."""

MUTATING = frozenset(
    {
        "RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer",
        "RemoveContainer", "UpdateContainerResources", "PullImage", "RemoveImage",
    }
)  # fmt: skip
"""Methods whose refusals stand in the journal too."""


class Door:
    """Shared by all methods of all services."""

    def __init__(self, faults: Faults, tally: Tally, journal: Journal, describe: Describe, clock: ClockNs) -> None:
        self.faults = faults
        self.tally = tally
        self.journal = journal
        self.clock = clock
        self._describe = describe
        self._cleared: dict[int, asyncio.Event] = {}

    def unary(self, method: str, call: Call, faulty: bool = True) -> Call:
        """`call` behind the door: it raises RefusedError only. `faulty`: faults apply to it."""
        calls, faults = self.tally.calls, self.faults

        def handle(request: bytes) -> Reply | Awaitable[Reply]:
            calls[method] += 1
            if faulty and faults.armed:
                return self._guarded(method, request, self._faulted(method, call, request))
            try:
                reply = call(request)
            except (PodherdError, DecodeError) as error:
                raise self._refused(method, request, error) from error
            if isinstance(reply, (bytes, tuple)):
                return reply
            return self._guarded(method, request, self._waited(method, request, reply))

        return handle

    def release(self, fault_id: int | None) -> None:
        """Let calls go on that this fault holds; None: that any fault holds."""
        held = list(self._cleared) if fault_id is None else [fault_id]
        for one in held:
            if (event := self._cleared.pop(one, None)) is not None:
                event.set()

    async def _guarded(self, method: str, request: bytes, work: Awaitable[Reply]) -> Reply:
        try:
            return await work
        except (PodherdError, DecodeError) as error:
            raise self._refused(method, request, error) from error

    async def _waited(self, method: str, request: bytes, reply: Awaitable[Reply]) -> Reply:
        subject = self._describe(method, request)
        pod = f"{subject.namespace}/{subject.pod}"
        self.tally.enter(method, pod)
        try:
            return await reply
        finally:
            self.tally.leave(method, pod)

    async def _faulted(self, method: str, call: Call, request: bytes) -> Reply:
        fault = self.faults.take(method, self._describe(method, request))
        if fault is not None and not fault.after:
            await self._waited(method, request, self._suffer(fault))
        reply = call(request)
        answer = reply if isinstance(reply, (bytes, tuple)) else await self._waited(method, request, reply)
        if fault is not None and fault.after:
            await self._waited(method, request, self._suffer(fault))
        return answer

    async def _suffer(self, fault: Fault) -> bytes:
        if fault.delay_s:
            event = self._cleared.setdefault(fault.fault_id, asyncio.Event())
            with suppress(TimeoutError):
                async with asyncio.timeout(fault.delay_s):
                    await event.wait()
        if fault.code:
            raise RefusedError(fault.code, fault.message)
        return b""

    def _refused(self, method: str, request: bytes, error: Exception) -> RefusedError:
        refusal = _refusal(error)
        self.tally.errors[f"{method} {refusal.code}"] += 1
        if method in MUTATING:
            self.journal.other(self.clock(), method, self._describe(method, request), refusal.code)
        return refusal


def _refusal(error: Exception) -> RefusedError:
    if isinstance(error, RefusedError):
        return error
    return RefusedError("INTERNAL" if isinstance(error, DecodeError) else "INVALID_ARGUMENT", str(error))
