"""Actors of one process on one event loop: the bus of tests, and of a run without Ray."""

import asyncio
from collections.abc import Iterable
from typing import Protocol

from podherd.actors.bus import DeliveryError
from podherd.wire.routes import role_of


class Receiver(Protocol):
    """What the bus delivers to: any `Shell`."""

    async def deliver(self, frame: bytes) -> None:
        """Handle one frame."""


class LocalBus:
    """A Bus of names and receivers. An actor that was never joined, or left, is away: DeliveryError."""

    def __init__(self, expected: Iterable[str] = ()) -> None:
        """`expected` names count as peers before they join, as named actors do while they start."""
        self._receivers: dict[str, Receiver] = {}
        self._names = dict.fromkeys(expected)

    def join(self, name: str, receiver: Receiver) -> None:
        """Let `receiver` be reached as `name`; a second join is the restarted actor."""
        self._receivers[name] = receiver
        self._names[name] = None

    def leave(self, name: str) -> None:
        """Make `name` unreachable, as a killed actor is; it stays a peer."""
        self._receivers.pop(name, None)

    async def deliver(self, receiver: str, frame: bytes) -> None:
        """Hand the frame over on the next turn of the loop, so that no sender runs inside a receiver."""
        await asyncio.sleep(0)
        try:
            there = self._receivers[receiver]
        except KeyError:
            raise DeliveryError(receiver, "is not on this bus", "it is retried until it joins") from None
        await there.deliver(frame)

    def peers(self, role: str) -> tuple[str, ...]:
        """The names of this role in the order they were expected or joined."""
        return tuple(name for name in self._names if role_of(name) == role)
