"""The outbox: what it may not drop, what it must, one frame in flight, ever rarer frames while it is busy."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from itertools import pairwise

import pytest
import structlog
from tests.kit.virtual_loop import run_virtually
from tests.kit.waiting import until

from podherd.actors import outbox as module
from podherd.actors.bus import DeliveryError
from podherd.actors.outbox import Outbox
from podherd.wire import codec
from podherd.wire.control import ANSWER_S, Ask
from podherd.wire.observed import Reinspect
from podherd.wire.status import PodEvent


class GatedBus:
    """Notes frames; `away` deliveries fail first; each waits for the gate, and `trying` is set while it does."""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.batches: list[list[codec.Message]] = []
        self.flying = self.most_flying = 0
        self.trying = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def deliver(self, receiver: str, frame: bytes) -> None:
        self.flying += 1
        self.most_flying = max(self.flying, self.most_flying)
        self.trying.set()
        try:
            await self.gate.wait()
            if self.away:
                self.away -= 1
                raise DeliveryError(receiver, "is away")
            self.batches.append(codec.decode(frame).messages)
        finally:
            self.flying -= 1
            self.trying.clear()

    def peers(self, role: str) -> tuple[str, ...]:
        return (role,)

    @property
    def messages(self) -> list[codec.Message]:
        return [message for batch in self.batches for message in batch]


@dataclass
class Clock:
    """Turned by hand."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


Run = Callable[[], None]


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> GatedBus:
    monkeypatch.setattr(module, "RETRY_S", 0.0)
    return GatedBus()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def box(bus: GatedBus, clock: Clock) -> Outbox:
    return Outbox("pod_shard-0", "pleg", bus, pace_s=0.0, clock=clock)


@pytest.fixture
async def run(box: Outbox) -> AsyncIterator[Run]:
    """Call it to let the box deliver from now on, until the test ends."""
    tasks: list[asyncio.Task[None]] = []
    yield lambda: tasks.append(asyncio.create_task(box.run()))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def look(uid: str, after: float = 1.0) -> Reinspect:
    return Reinspect(uid, "ns", uid, after)


def event(number: int, message: str = "") -> PodEvent:
    return PodEvent("u", "ns", "p", "", float(number), "Normal", "Started", message)


async def test_the_last_message_of_a_key_wins_and_every_event_counts(bus: GatedBus, box: Outbox, run: Run) -> None:
    for message in (look("a", 1.0), event(1), look("b"), look("a", 2.0), event(1)):
        box.put(message)
    assert len(box) == 4
    run()
    await until(lambda: len(box) == 0)
    assert bus.messages == [event(1), look("b"), look("a", 2.0), event(1)]


async def test_one_frame_is_in_flight_and_what_comes_meanwhile_goes_with_the_next(
    bus: GatedBus, box: Outbox, run: Run
) -> None:
    bus.gate.clear()
    run()
    box.put(look("a"))
    await bus.trying.wait()
    for uid in "bcd":
        box.put(look(uid))
    bus.gate.set()
    await until(lambda: len(box) == 0)
    assert [[m.uid for m in batch] for batch in bus.batches] == [["a"], ["b", "c", "d"]]
    assert bus.most_flying == 1


async def test_a_message_put_again_while_it_flies_goes_again(bus: GatedBus, box: Outbox, run: Run) -> None:
    """The receiver may have restarted in between and said hello: the frame in flight was its predecessor's."""
    bus.gate.clear()
    run()
    box.put(same := look("a"))
    await bus.trying.wait()
    box.put(same)
    bus.gate.set()
    await until(lambda: len(box) == 0)
    assert bus.batches == [[same], [same]]


async def test_after_a_failure_everything_goes_in_the_order_of_its_newest_value(
    bus: GatedBus, box: Outbox, run: Run
) -> None:
    bus.away = 3
    bus.gate.clear()
    run()
    for message in (look("a", 1.0), event(1), look("b", 1.0)):
        box.put(message)
    await bus.trying.wait()
    box.put(event(2))
    box.put(look("a", 2.0))
    bus.gate.set()
    await until(lambda: len(box) == 0)
    assert bus.messages == [event(1), look("b", 1.0), event(2), look("a", 2.0)]


async def test_a_busy_outbox_sends_fewer_frames_and_drops_nothing(
    bus: GatedBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    numbers = iter(range(200))

    async def sleep(seconds: float) -> None:
        """Virtual time: an event comes each millisecond that the outbox sleeps."""
        slept.append(seconds)
        for _, number in zip(range(round(seconds * 1000)), numbers, strict=False):
            box.put(event(number))
        await real_sleep(0)

    real_sleep = asyncio.sleep
    box = Outbox("pod_shard-0", "pleg", bus, pace_s=0.001, busy_pace_s=0.05, spare=0)
    with monkeypatch.context() as patched:
        patched.setattr(module.asyncio, "sleep", sleep)
        box.put(event(-1))
        task = asyncio.create_task(box.run())
        async with asyncio.timeout(10.0):
            while len(bus.messages) < 201:
                await real_sleep(0)
        task.cancel()
    assert bus.messages == [event(number) for number in range(-1, 200)]
    assert slept[:8] == [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.05, 0.05]
    assert len(bus.batches) < 14


def test_a_few_frames_are_not_paced_and_there_are_more_to_spare_after_a_while(bus: GatedBus, clock: Clock) -> None:
    """What one pod's start tells goes step by step, each as soon as the last has arrived."""
    box = Outbox("pod_shard-0", "pleg", bus, pace_s=10.0, busy_pace_s=10.0, clock=clock, spare=2)
    sent_at: list[float] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(box.run())
        for number in range(8):
            clock.now += module.SPARE_S if number == 4 else 0.0
            box.put(event(number))
            await until(lambda: len(box) == 0)
            sent_at.append(loop.time())
        task.cancel()

    run_virtually(story())
    waits = [round(after - before) for before, after in pairwise(sent_at)]
    assert waits == [0, 0, 10, 10, 0, 10, 10]
    assert bus.messages == [event(number) for number in range(8)]


async def test_a_large_queue_goes_in_bounded_frames(bus: GatedBus, box: Outbox, run: Run) -> None:
    for number in range(module.BATCH * 2 + 1):
        box.put(event(number))
    run()
    await until(lambda: len(box) == 0)
    assert [len(batch) for batch in bus.batches] == [module.BATCH, module.BATCH, 1]


async def test_what_cannot_be_encoded_is_dropped_alone_and_logged(bus: GatedBus, box: Outbox, run: Run) -> None:
    bad = event(2, "no file name in UTF-8: \udcff")
    for message in (event(1), bad, look("a")):
        box.put(message)
    with structlog.testing.capture_logs() as logs:
        run()
        await until(lambda: len(box) == 0)
        box.put(bad)
        await until(lambda: len(box) == 0)
    box.put(event(3))
    await until(lambda: len(box) == 0)
    assert bus.batches == [[event(1), look("a")], [event(3)]]
    assert [log["kind"] for log in logs if log["event"] == "message dropped"] == ["PodEvent", "PodEvent"]


async def test_events_for_one_who_is_away_are_bounded_and_the_oldest_go(
    bus: GatedBus, box: Outbox, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOSE_MOST", 3)
    bus.away = 1
    bus.gate.clear()
    run()
    for number in range(3):
        box.put(event(number))
    box.put(look("a"))
    await bus.trying.wait()
    for number in range(3, 8):
        box.put(event(number))
    assert len(box) == 4
    with structlog.testing.capture_logs() as logs:
        bus.gate.set()
        await until(lambda: len(box) == 0)
    assert bus.messages == [look("a"), event(5), event(6), event(7)]
    assert [log["count"] for log in logs if log["event"] == "events dropped"] == [5]


async def test_a_question_that_nobody_waits_for_any_more_is_not_asked(
    bus: GatedBus, box: Outbox, run: Run, clock: Clock
) -> None:
    bus.away = 1
    bus.gate.clear()
    run()
    box.put(Ask(1, "pod", b""))
    await bus.trying.wait()
    clock.now += ANSWER_S + 0.1
    box.put(Ask(2, "pod", b""))
    bus.gate.set()
    await until(lambda: len(box) == 0)
    assert bus.messages == [Ask(2, "pod", b"")]
