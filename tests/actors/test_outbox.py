"""The outbox: nothing dropped, one frame in flight, ever rarer frames while it is busy."""

import asyncio

import pytest
from tests.kit.waiting import until

from podherd.actors import outbox as module
from podherd.actors.bus import DeliveryError
from podherd.actors.outbox import Outbox
from podherd.wire import codec
from podherd.wire.observed import Reinspect
from podherd.wire.status import PodEvent


class SlowBus:
    """Notes frames; `away` deliveries fail first; each takes `gate` to be set."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.batches: list[list[codec.Message]] = []
        self.flying = self.most_flying = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def deliver(self, receiver: str, frame: bytes) -> None:
        self.flying += 1
        self.most_flying = max(self.flying, self.most_flying)
        try:
            await self.gate.wait()
            if self.away:
                self.away -= 1
                raise DeliveryError(receiver, "is away")
            self.batches.append(codec.decode(frame).messages)
        finally:
            self.flying -= 1

    def peers(self, role: str) -> tuple[str, ...]:
        return (role,)

    @property
    def messages(self) -> list[codec.Message]:
        return [message for batch in self.batches for message in batch]


def look(uid: str, after: float = 1.0) -> Reinspect:
    return Reinspect(uid, "ns", uid, after)


def event(number: int) -> PodEvent:
    return PodEvent("u", "ns", "p", "", float(number), "Normal", "Started", "")


async def _run(box: Outbox, done: asyncio.Event | None = None, seconds: float = 0.2) -> None:
    task = asyncio.create_task(box.run())
    try:
        async with asyncio.timeout(seconds):
            await (done or asyncio.Event()).wait()
    except TimeoutError:
        pass
    finally:
        task.cancel()


async def test_the_last_message_of_a_key_wins_and_every_event_counts() -> None:
    bus = SlowBus()
    box = Outbox("pod_shard-0", "pleg", bus)
    for message in (look("a", 1.0), event(1), look("b"), look("a", 2.0), event(1)):
        box.put(message)
    assert len(box) == 4
    await _run(box)
    assert bus.messages == [event(1), look("b"), look("a", 2.0), event(1)]


async def test_one_frame_is_in_flight_and_what_comes_meanwhile_goes_with_the_next() -> None:
    bus = SlowBus()
    bus.gate.clear()
    box = Outbox("pod_shard-0", "pleg", bus)
    box.put(look("a"))
    task = asyncio.create_task(box.run())
    await asyncio.sleep(0.02)
    for uid in "bcd":
        box.put(look(uid))
    bus.gate.set()
    await until(lambda: len(bus.batches) >= 2)
    task.cancel()
    assert [[m.uid for m in batch] for batch in bus.batches] == [["a"], ["b", "c", "d"]]
    assert bus.most_flying == 1


async def test_a_receiver_that_is_away_gets_everything_later_newest_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_S", 0.01)
    bus = SlowBus(away=3)
    box = Outbox("pod_shard-0", "pleg", bus)
    box.put(look("a", 1.0))
    box.put(event(1))
    task = asyncio.create_task(box.run())
    await asyncio.sleep(0.015)
    box.put(look("a", 2.0))
    await until(lambda: bus.batches)
    task.cancel()
    assert event(1) in bus.messages
    assert look("a", 1.0) not in bus.messages[bus.messages.index(look("a", 2.0)) :]


async def test_a_busy_outbox_sends_fewer_frames_and_drops_nothing() -> None:
    bus = SlowBus()
    box = Outbox("pod_shard-0", "pleg", bus, pace_s=0.001, busy_pace_s=0.05)
    task = asyncio.create_task(box.run())
    for number in range(200):
        box.put(event(number))
        await asyncio.sleep(0.001)
    await until(lambda: len(bus.messages) >= 200)
    task.cancel()
    assert bus.messages == [event(number) for number in range(200)]
    assert len(bus.batches) < 40


async def test_a_large_queue_goes_in_bounded_frames() -> None:
    bus = SlowBus()
    box = Outbox("pod_shard-0", "pleg", bus, pace_s=0.0)
    for number in range(module.BATCH * 2 + 1):
        box.put(event(number))
    await _run(box)
    assert [len(batch) for batch in bus.batches] == [module.BATCH, module.BATCH, 1]
