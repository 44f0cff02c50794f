"""JSON answers, and errors that the command line can show as they are: `{thing, reason, mend}`."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web

from podherd.errors import PodherdError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class NotFoundError(PodherdError):
    """No such thing here: HTTP 404."""


class BusyError(PodherdError):
    """Too many readers, or an actor that does not answer now: HTTP 503."""


class ConflictError(PodherdError):
    """What is there is not in the state that the request needs: HTTP 409."""


class BadRequestError(PodherdError):
    """The request cannot be understood: HTTP 400."""


_STATUS: tuple[tuple[type[PodherdError], int], ...] = (
    (NotFoundError, 404),
    (BusyError, 503),
    (BadRequestError, 400),
    (ConflictError, 409),
    (PodherdError, 500),
)


def reply(value: Any, status: int = 200) -> web.Response:
    """A JSON answer."""
    return web.Response(body=orjson.dumps(value), status=status, content_type="application/json")


def refuse(error: PodherdError) -> web.Response:
    """An error as JSON, its HTTP status by its kind."""
    status = next(code for kind, code in _STATUS if isinstance(error, kind))
    return reply({"thing": error.thing, "reason": error.reason, "mend": error.mend}, status)


@web.middleware
async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer the agent's own errors as JSON; an unknown path says what there is to ask."""
    try:
        return await handler(request)
    except PodherdError as error:
        return refuse(error)
    except web.HTTPNotFound:
        return refuse(NotFoundError(request.path, "the agent has no such page", "see the paths in podherd.server.app"))
