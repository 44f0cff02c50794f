"""Bounded waits on conditions."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

LOOK_S = 0.005


async def until(done: Callable[[], Any | Awaitable[Any]], seconds: float = 30.0) -> None:
    """Return once `done()` is true; TimeoutError after `seconds`. `done` may be a coroutine function."""
    async with asyncio.timeout(seconds):
        while True:
            answer = done()
            if await answer if inspect.isawaitable(answer) else answer:
                return
            await asyncio.sleep(LOOK_S)
