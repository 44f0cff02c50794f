"""The client of one API server: requests with deadlines, retries and credentials; `follow` watches for ever."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import orjson

from podherd.errors import ApiError
from podherd.kube.answers import object_of, refusal
from podherd.kube.door import STRATEGIC, Body, News, Query
from podherd.kube.follow import follow
from podherd.kube.limiter import Limiter
from podherd.kube.transport import Request, Source, Transport

TRIES = 5
"""Of one request, while the server says Retry-After."""
LONGEST_WAIT_S = 10.0
"""A longer Retry-After is the caller's to wait for: the error has it."""
AT_ONCE = 64
"""Requests under way; watches do not count."""
_MANY = HTTPStatus.TOO_MANY_REQUESTS


class Client:
    """An `Api`. source: who and where, asked again until it does not raise; qps 0: no limit. Made in a running loop."""

    def __init__(self, source: Source, qps: float, burst: int, *, deadline_s: float = 10.0) -> None:
        self._transport = Transport(source)
        self._limiter = Limiter(qps, burst)
        self._room = asyncio.Semaphore(AT_ONCE)
        self._deadline_s = deadline_s
        self._follows: set[asyncio.Task[None]] = set()

    async def get(self, path: str, query: Query | None = None) -> dict[str, Any]:
        """One object or list."""
        return await self._ask(Request("GET", path, query))

    async def create(self, path: str, body: Body, query: Query | None = None) -> dict[str, Any]:
        """POST; the object as it was made."""
        return await self._ask(Request("POST", path, query, orjson.dumps(body)))

    async def replace(self, path: str, body: Body) -> dict[str, Any]:
        """PUT; a stale resourceVersion is ApiError 409 `Conflict`."""
        return await self._ask(Request("PUT", path, None, orjson.dumps(body)))

    async def patch(self, path: str, body: Body, kind: str = STRATEGIC) -> dict[str, Any]:
        """PATCH with this content type; the object as it stands then."""
        return await self._ask(Request("PATCH", path, None, orjson.dumps(body), kind))

    async def delete(self, path: str, uid: str = "", grace_s: int | None = None) -> None:
        """DELETE, with a UID precondition unless `uid` is empty. 404 is no error: it is gone."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        try:
            await self._ask(Request("DELETE", path, None, orjson.dumps(options)))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def follow(self, path: str, query: Query, told: Callable[[News], None]) -> None:
        """List, then watch, for ever; ends by cancellation, and by `close` as if it were cancelled."""
        work = follow(self._transport, self._limiter, path, query, told)
        task = asyncio.create_task(work, name=f"follow {path}")
        self._follows.add(task)
        try:
            await task
        finally:
            self._follows.discard(task)

    async def close(self) -> None:
        """Break off everything and close the connections."""
        follows = list(self._follows)
        for task in follows:
            task.cancel()
        await asyncio.gather(*follows, return_exceptions=True)
        await self._transport.close()

    async def _ask(self, request: Request) -> dict[str, Any]:
        for left in reversed(range(TRIES)):
            await self._limiter.turn()
            async with self._room:
                try:
                    return await self._once(request)
                except ApiError as error:
                    if not left or not may_retry(error):
                        raise
                    wait_s = error.retry_after_s
            await asyncio.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    async def _once(self, request: Request) -> dict[str, Any]:
        try:
            async with asyncio.timeout(self._deadline_s), self._transport.send(request) as answer:
                data = await answer.read()
        except TimeoutError as error:
            raise self._transport.unanswered(request, f"no answer in {self._deadline_s:g} s") from error
        if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
            raise refusal(str(request), answer.status, answer.headers, data)
        return object_of(str(request), data)


def may_retry(error: ApiError) -> bool:
    """Whether the server asked to come again soon: it has done nothing of the request."""
    busy = error.status == _MANY or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return busy and 0 < error.retry_after_s <= LONGEST_WAIT_S
