"""One CRI method on one channel: the call, its deadline, and its failure as a CriError.

The generated stub class would do the same work with a name lookup a call and no deadline of its own; here each
method's multicallable is built once, and a failure of gRPC never crosses the border of the room.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any, Generic, TypeVar

import grpc
from google.protobuf.message import Message

from podherd.errors import CriError
from podherd.model.clip import clipped

RUNTIME = "/runtime.v1.RuntimeService/"
IMAGE = "/runtime.v1.ImageService/"

Request = TypeVar("Request", bound=Message)
Reply = TypeVar("Reply")
_CHANNEL_LOST = "the channel to the runtime was closed"


def failure(method: str, error: grpc.aio.AioRpcError) -> CriError:
    """The gRPC error as ours: `CRI StartContainer: <the runtime's own words>`, code such as `NOT_FOUND`."""
    code = error.code().name
    return CriError(f"CRI {method}", code, clipped(error.details() or code.lower().replace("_", " ")))


def _closed(method: str) -> CriError:
    return CriError(f"CRI {method}", "CANCELLED", _CHANNEL_LOST)


def _is_cancelled() -> bool:
    """Whether this task itself was cancelled, and not only the call under it (by closing the channel)."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Call(Generic[Request, Reply]):
    """A unary method. `reply` None gives the undecoded reply bytes."""

    __slots__ = ("_call", "_method")

    def __init__(
        self,
        channel: grpc.aio.Channel,
        service: str,
        method: str,
        request: type[Request],
        reply: Callable[[bytes], Reply] | None,
    ) -> None:
        self._method = method
        self._call: Any = channel.unary_unary(service + method, request.SerializeToString, reply)

    async def __call__(self, request: Request, timeout_s: float | None) -> Reply:
        """The reply; a runtime that has not answered after `timeout_s` is DEADLINE_EXCEEDED. None waits for ever."""
        try:
            return await self._call(request, timeout=timeout_s)  # type: ignore[no-any-return]
        except grpc.aio.AioRpcError as error:
            raise failure(self._method, error) from error
        except grpc.aio.UsageError as error:
            raise _closed(self._method) from error
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            raise _closed(self._method) from None


class StreamCall(Generic[Request, Reply]):
    """A method that answers with a stream of replies until one side ends it."""

    __slots__ = ("_call", "_method")

    def __init__(
        self,
        channel: grpc.aio.Channel,
        service: str,
        method: str,
        request: type[Request],
        reply: Callable[[bytes], Reply],
    ) -> None:
        self._method = method
        self._call: Any = channel.unary_stream(service + method, request.SerializeToString, reply)

    async def __call__(self, request: Request) -> AsyncGenerator[Reply, None]:
        """The replies as they come. The stream has no deadline; leaving the loop cancels it."""
        try:
            call = self._call(request)
        except grpc.aio.UsageError as error:
            raise _closed(self._method) from error
        try:
            async for reply in call:
                yield reply
        except grpc.aio.AioRpcError as error:
            raise failure(self._method, error) from error
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            raise _closed(self._method) from None
        finally:
            call.cancel()
