"""The in-process bus: names, roles, being away."""

import pytest

from podherd.actors.bus import DeliveryError
from podherd.actors.local_bus import LocalBus


class Ear:
    def __init__(self) -> None:
        self.frames: list[bytes] = []

    async def deliver(self, frame: bytes) -> None:
        self.frames.append(frame)


async def test_a_frame_reaches_who_joined_under_the_name() -> None:
    bus, ear = LocalBus(), Ear()
    bus.join("pleg", ear)
    await bus.deliver("pleg", b"x")
    assert ear.frames == [b"x"]


async def test_who_never_joined_or_left_is_away_and_stays_a_peer() -> None:
    bus = LocalBus(["pod_shard-0", "pod_shard-1"])
    bus.join("pod_shard-1", Ear())
    bus.leave("pod_shard-1")
    for name in ("pod_shard-0", "pod_shard-1"):
        with pytest.raises(DeliveryError):
            await bus.deliver(name, b"x")
    assert bus.peers("pod_shard") == ("pod_shard-0", "pod_shard-1")
    assert bus.peers("pod") == ()
