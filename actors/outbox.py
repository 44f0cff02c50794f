"""Messages on their way to one receiver: batched, coalesced, never dropped, one delivery in flight."""

import asyncio
from collections.abc import Hashable

from podherd.actors.bus import Bus, DeliveryError
from podherd.wire import codec
from podherd.wire.coalesce import key_of

PACE_S = 0.01
"""Least time between two frames of an outbox; the first after idleness leaves at once."""
BUSY_PACE_S = 0.08
"""The same for one that is always busy. A Ray call costs 1.4 ms of CPU whatever it carries: let it carry much."""
RETRY_S = 0.2
BATCH = 512


class Outbox:
    """The queue to `receiver`. `run` is its only task; `put` never blocks."""

    def __init__(
        self, sender: str, receiver: str, bus: Bus, pace_s: float = PACE_S, busy_pace_s: float = BUSY_PACE_S
    ) -> None:
        self.receiver = receiver
        self._sender = sender
        self._bus = bus
        self._pace_s = pace_s
        self._busy_pace_s = busy_pace_s
        self._waiting: dict[Hashable, codec.Message] = {}
        self._serial = 0
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, message: codec.Message) -> None:
        """Queue a message; one waiting under the same coalescing key is replaced and goes to the end."""
        key = key_of(message)
        if key is None:
            self._serial += 1
            key = self._serial
        self._waiting.pop(key, None)
        self._waiting[key] = message
        self._filled.set()

    async def run(self) -> None:
        """Deliver for ever; a receiver that is away delays its own messages only."""
        pace_s = self._pace_s
        while True:
            await self._filled.wait()
            await self._flush()
            await asyncio.sleep(pace_s)
            # What came meanwhile shows how busy it is: each frame in a row waits longer, up to the busy pace.
            pace_s = min(2 * pace_s, self._busy_pace_s) if self._waiting else self._pace_s

    async def _flush(self) -> None:
        batch = dict(list(self._waiting.items())[:BATCH])
        for key in batch:
            del self._waiting[key]
        if not self._waiting:
            self._filled.clear()
        frame = codec.encode(self._sender, batch.values())
        try:
            await self._bus.deliver(self.receiver, frame)
        except DeliveryError:
            self._waiting = {**batch, **self._waiting}
            self._filled.set()
            await asyncio.sleep(RETRY_S)
