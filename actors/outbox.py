"""Messages on their way to one receiver: batched, coalesced, one delivery in flight, again until it is handled.

Three things alone never arrive: a message that cannot be encoded, a question whose asker waits no longer, and the
oldest events (and the like, of which each counts) beyond LOOSE_MOST of a kind. Each of them is logged.
"""

import asyncio
import time
from collections.abc import Callable, Hashable
from itertools import islice

import structlog

from podherd.actors.bus import Bus, DeliveryError
from podherd.errors import WireError
from podherd.wire import codec
from podherd.wire.coalesce import key_of
from podherd.wire.control import ANSWER_S, Ask

PACE_S = 0.01
"""Least time between two frames of an outbox that has none to spare; the first after idleness leaves at once."""
BUSY_PACE_S = 0.08
"""The same for one that is always busy. A Ray call costs 1.4 ms of CPU whatever it carries: let it carry much."""
SPARE = 8
"""So many frames may leave without a pace between them, one more each SPARE_S: the steps of one pod's start wait for
nothing, and those of a herd are paced all the same."""
SPARE_S = 0.25
RETRY_S = 0.2
BATCH = 512
LOOSE_MOST = 10_000
"""So many messages of a kind that does not coalesce may wait for a receiver that is away: a few MB."""


class Outbox:
    """The queue to `receiver`. `run` is its only task; `put` never blocks.

    spare: frames that need no pace, at first and at most. clock: seconds, never set back.
    """

    def __init__(
        self,
        sender: str,
        receiver: str,
        bus: Bus,
        pace_s: float = PACE_S,
        busy_pace_s: float = BUSY_PACE_S,
        clock: Callable[[], float] = time.monotonic,
        spare: int = SPARE,
    ) -> None:
        self.receiver = receiver
        self._sender = sender
        self._bus = bus
        self._pace_s = pace_s
        self._busy_pace_s = busy_pace_s
        self._clock = clock
        self._most_spare = self._spare = float(spare)
        self._spared_at = clock()
        self._waiting: dict[Hashable, codec.Message] = {}
        self._flying: set[Hashable] = set()
        self._loose: dict[type, dict[int, float]] = {}
        self._serial = 0
        self._dropped = 0
        self._filled = asyncio.Event()
        self._log = structlog.get_logger().bind(actor=sender)

    def __len__(self) -> int:
        """Messages that the receiver has not handled yet."""
        return len(self._waiting)

    def put(self, message: codec.Message) -> None:
        """Queue a message; one waiting under the same coalescing key is replaced and goes to the end."""
        key = key_of(message)
        if key is None:
            key = self._number(type(message))
        self._waiting.pop(key, None)
        self._flying.discard(key)
        self._waiting[key] = message
        self._filled.set()

    def _number(self, kind: type) -> int:
        """A key of its own for a message that replaces no other; the oldest of too many gives way."""
        loose = self._loose.setdefault(kind, {})
        if len(loose) >= LOOSE_MOST:
            self._remove(next(iter(loose)))
            self._dropped += 1
        self._serial += 1
        loose[self._serial] = self._clock()
        return self._serial

    def _remove(self, key: Hashable) -> None:
        message = self._waiting.pop(key)
        self._flying.discard(key)
        if isinstance(key, int):
            del self._loose[type(message)][key]

    async def run(self) -> None:
        """Deliver for ever; a receiver that is away delays its own messages only."""
        pace_s = self._pace_s
        while True:
            await self._filled.wait()
            if not await self._flush():
                await asyncio.sleep(RETRY_S)
            elif self._has_spare():
                continue
            await asyncio.sleep(pace_s)
            # What came meanwhile shows how busy it is: each frame in a row waits longer, up to the busy pace.
            pace_s = min(2 * pace_s, self._busy_pace_s) if self._waiting else self._pace_s

    def _has_spare(self) -> bool:
        """Whether the frame just sent is one of the spare ones; it is used up then."""
        now = self._clock()
        self._spare = min(self._most_spare, self._spare + (now - self._spared_at) / SPARE_S)
        self._spared_at = now
        if self._spare < 1:
            return False
        self._spare -= 1
        return True

    async def _flush(self) -> bool:
        """Deliver one frame. False: the receiver is away; what is not replaced meanwhile keeps its place."""
        self._drop_stale_questions()
        batch = dict(islice(self._waiting.items(), BATCH))
        self._flying = set(batch)
        frame = self._encoded(batch)
        try:
            if self._flying:
                await self._bus.deliver(self.receiver, frame)
        except DeliveryError:
            return False
        for key in list(self._flying):
            self._remove(key)
        if not self._waiting:
            self._filled.clear()
        if self._dropped:
            self._log.warning("events dropped", receiver=self.receiver, count=self._dropped)
            self._dropped = 0
        return True

    def _drop_stale_questions(self) -> None:
        asked = self._loose.get(Ask)
        while asked and self._clock() - asked[number := next(iter(asked))] > ANSWER_S:
            self._remove(number)
            self._log.debug("question dropped", receiver=self.receiver)

    def _encoded(self, batch: dict[Hashable, codec.Message]) -> bytes:
        """The frame of the batch, without those messages of it that no frame can carry."""
        try:
            return codec.encode(self._sender, batch.values())
        except WireError:
            return codec.encode(self._sender, [it for key, it in batch.items() if self._can_travel(key, it)])

    def _can_travel(self, key: Hashable, message: codec.Message) -> bool:
        try:
            codec.encode(self._sender, (message,))
        except WireError as error:
            self._remove(key)
            self._log.error("message dropped", receiver=self.receiver, kind=type(message).__name__, error=str(error))
            return False
        return True
