"""How a frame reaches another actor; Ray is one way (`ray_bus`), an in-process bus is another (tests)."""

from typing import Protocol

from podherd.errors import PodherdError


class DeliveryError(PodherdError):
    """The receiver cannot be reached now; the frame was not handled and may be sent again."""


class Bus(Protocol):
    """The only door between actors."""

    async def deliver(self, receiver: str, frame: bytes) -> None:
        """Return once `receiver` has handled the frame; raise DeliveryError when it is away."""

    def peers(self, role: str) -> tuple[str, ...]:
        """The names of every actor of this role, `pod_shard` -> (`pod_shard-0`, `pod_shard-1`)."""
