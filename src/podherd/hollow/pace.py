"""Calls that take their time: a delay, then the deed or a refusal; a caller that gives up undoes what was begun."""

import asyncio
from collections.abc import Callable

from podherd.hollow.refusal import RefusedError

GIVEN_UP = RefusedError("CANCELLED", "context canceled")
DONE = b""
"""The encoded form of every reply without fields."""


async def paced(
    delay_s: float,
    refusal: RefusedError | None,
    deed: Callable[[], bytes],
    undo: Callable[[RefusedError], None] = lambda _refusal: None,
) -> bytes:
    """Wait; then `deed`, whose reply is returned, or `refusal`. Refused or cancelled: `undo` first."""
    try:
        await asyncio.sleep(delay_s)
        if refusal is None:
            return deed()
    except asyncio.CancelledError:
        undo(GIVEN_UP)
        raise
    except RefusedError as error:
        undo(error)
        raise
    undo(refusal)
    raise refusal
