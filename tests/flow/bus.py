"""The synchronous bus: the real outboxes, frames really encoded and decoded, every lane with a delay of its own.

What Ray may do to a frame: late, lost with its sender, refused by a dead receiver, handled although the sender was
told otherwise (then it comes twice). What it may not: reorder the frames of one sender to one receiver.
"""

from random import Random
from typing import Protocol

from tests.flow.timeline import Life, Timeline, wait

from podherd.actors.bus import DeliveryError
from podherd.actors.outbox import PACE_S, RETRY_S, Outbox
from podherd.wire import codec
from podherd.wire.codec import Message
from podherd.wire.routes import check

DELIVER_S = 30.0
"""As in `actors/ray_bus`: a receiver that has not handled a frame after this counts as away."""


class Receiver(Protocol):
    @property
    def up(self) -> bool: ...

    def receive(self, sender: str, messages: list[Message]) -> None: ...


class Bus:
    """delays: extra seconds by lane. p_lost: how likely a frame is refused, p_twice: handled and sent again."""

    def __init__(self, timeline: Timeline, dice: Random) -> None:
        self._timeline = timeline
        self._dice = dice
        self.receivers: dict[str, Receiver] = {}
        self.delays: dict[tuple[str, str], float] = {}
        self.p_lost = self.p_twice = 0.0
        self.tried: set[str] = set()

    def delay_s(self, sender: str, receiver: str) -> float:
        return 0.002 + 0.02 * self._dice.random() ** 4 + self.delays.get((sender, receiver), 0.0)

    def hand_over(self, receiver: str, frame: bytes) -> None:
        there = self.receivers[receiver]
        if not there.up or self._dice.random() < self.p_lost:
            raise DeliveryError(receiver, "is away", "it is retried")
        batch = codec.decode(frame)
        there.receive(batch.sender, batch.messages)

    def hand_over_late(self, receiver: str, frame: bytes) -> None:
        """A frame whose sender has died meanwhile."""
        try:
            self.hand_over(receiver, frame)
        except DeliveryError:
            return

    def is_doubled(self) -> bool:
        return self._dice.random() < self.p_twice

    def outlives_its_sender(self, receiver: str, frame: bytes) -> None:
        if self._dice.random() < 0.5:
            self._timeline.after(0.1, lambda: self.hand_over_late(receiver, frame))


class _Door:
    """What an outbox delivers through."""

    def __init__(self, bus: Bus, sender: str) -> None:
        self._bus = bus
        self._sender = sender

    async def deliver(self, receiver: str, frame: bytes) -> None:
        bus = self._bus
        delay_s = bus.delay_s(self._sender, receiver)
        try:
            await wait(None, min(delay_s, DELIVER_S))
        except GeneratorExit:
            bus.outlives_its_sender(receiver, frame)
            raise
        if delay_s > DELIVER_S:
            raise DeliveryError(receiver, "no answer in time", "it is retried")
        bus.hand_over(receiver, frame)
        if bus.is_doubled():
            bus.tried.add("twice")
            raise DeliveryError(receiver, "the answer was lost", "it is retried")

    def peers(self, role: str) -> tuple[str, ...]:
        raise LookupError(role)


class Lane:
    """All messages of one life of a sender to one receiver, in a real outbox."""

    def __init__(self, bus: Bus, life: Life, sender: str, receiver: str, timeline: Timeline) -> None:
        self._bus = bus
        self._life = life
        self._names = (sender, receiver)
        self._box = Outbox(sender, receiver, _Door(bus, sender), clock=lambda: timeline.now)
        self._running = False

    def __len__(self) -> int:
        return len(self._box)

    def put(self, message: Message) -> None:
        check(*self._names, type(message))
        self._box.put(message)
        if not self._running:
            self._running = True
            self._life.after(0.0, lambda: self._life.spawn(self._run()) and None)

    async def _run(self) -> None:
        while len(self._box):
            delivered = await self._box._flush()
            await wait(None, PACE_S if delivered else RETRY_S)
        self._running = False
