"""One timer for all pods of a shard."""

import asyncio
from typing import Any

from podherd.actors.alarms import Alarms


class Bell:
    """Alarms on a clock that the test turns; the loop's timer fires at once."""

    def __init__(self) -> None:
        self.now = 100.0
        self.rung: list[list[str]] = []
        self.alarms = Alarms(lambda: self.now, self.rung.append)

    async def at(self, now: float) -> list[list[str]]:
        """Turn the clock, let the timer of the earliest alarm fire; what rang."""
        self.now = now
        self.alarms._arm()
        fired = asyncio.Event()
        # The loop fires timers in order: when this later one has, that of a due alarm has too.
        asyncio.get_running_loop().call_later(0.0, fired.set)
        await fired.wait()
        rung = list(self.rung)
        self.rung.clear()
        return rung


async def test_all_that_is_due_rings_at_once_and_only_then() -> None:
    bell = Bell()
    for uid, at in (("a", 200), ("b", 150), ("c", 200), ("d", 900)):
        bell.alarms.set(uid, at)
    assert await bell.at(149.0) == []
    assert await bell.at(200.0) == [["b", "a", "c"]]
    assert len(bell.alarms) == 1


async def test_a_later_time_replaces_an_earlier_one() -> None:
    bell = Bell()
    bell.alarms.set("a", 150)
    bell.alarms.set("a", 300)
    assert await bell.at(200.0) == []
    assert await bell.at(300.0) == [["a"]]


async def test_a_dropped_key_never_rings() -> None:
    bell = Bell()
    bell.alarms.set("a", 150)
    bell.alarms.drop("a")
    assert await bell.at(200.0) == []


async def test_one_callback_in_the_loop_however_many_keys_and_a_bounded_heap() -> None:
    bell = Bell()
    loop: Any = asyncio.get_running_loop()
    for turn in range(50):
        for n in range(100):
            bell.alarms.set(f"p{n}", 1000.0 + turn)
    live = [handle for handle in loop._scheduled if not handle.cancelled() and "_ring" in repr(handle)]
    assert len(live) == 1
    assert len(bell.alarms._heap) <= 64 + 2 * 100
    bell.alarms.close()


async def test_keys_set_while_ringing_ring_later() -> None:
    bell = Bell()
    bell.alarms = Alarms(lambda: bell.now, lambda uids: (bell.rung.append(uids), bell.alarms.set("a", bell.now + 350)))
    bell.alarms.set("a", 150)
    assert await bell.at(150.0) == [["a"]]
    assert await bell.at(499.0) == []
    assert await bell.at(500.0) == [["a"]]
    bell.alarms.close()
