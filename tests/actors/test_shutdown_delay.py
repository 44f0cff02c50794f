"""Holding a shutdown of the machine back, over a real D-Bus."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.kit.logind import Bus, Logind, own_bus, own_logind
from tests.kit.waiting import until

from podherd.actors import shutdown_delay as module
from podherd.actors.shutdown_delay import ShutdownDelay
from podherd.machines.node_events import ShuttingDown


class Log:
    """Keeps the lines, as `event: reason`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def info(self, event: str, **_: Any) -> None:
        self.lines.append(event)

    def warning(self, event: str, reason: str = "") -> None:
        self.lines.append(f"{event}: {reason}")


class Stand:
    """A delay that runs. heard: of shutdowns that begin and are called off."""

    def __init__(self, needed_s: int, conf_dir: Path) -> None:
        self.heard: list[bool] = []
        self.log = Log()
        self.delay = ShutdownDelay(needed_s, self._turn, self.log, conf_dir)

    def _turn(self, event: Any) -> None:
        assert isinstance(event, ShuttingDown)
        self.heard.append(event.active)


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bus]:
    monkeypatch.setattr(module, "AGAIN_S", 0.02)
    with own_bus(tmp_path) as running:
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", running.address)
        yield running


@pytest.fixture
async def logind(bus: Bus, tmp_path: Path) -> AsyncIterator[Logind]:
    async with own_logind(bus, tmp_path / "conf") as running:
        yield running


@asynccontextmanager
async def running(needed_s: int, conf_dir: Path) -> AsyncIterator[Stand]:
    stand = Stand(needed_s, conf_dir)
    task = asyncio.get_running_loop().create_task(stand.delay.run())
    try:
        yield stand
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        stand.delay.release()


async def test_a_shutdown_is_heard_of_and_held_back_until_the_lock_is_let_go(logind: Logind, tmp_path: Path) -> None:
    async with running(5, tmp_path / "conf") as stand:
        await until(lambda: "graceful node shutdown is on" in stand.log.lines)
        assert [(what, mode) for what, _, _, mode in logind.asked] == [("shutdown", "delay")]
        assert not (tmp_path / "conf").exists()
        logind.tell(True)
        await until(lambda: stand.heard == [True])
        assert logind.held() == 1
        stand.delay.release()
        await until(lambda: logind.held() == 0)


async def test_one_that_is_called_off_is_heard_of_and_the_next_one_is_held_back_too(
    logind: Logind, tmp_path: Path
) -> None:
    async with running(5, tmp_path / "conf") as stand:
        await until(lambda: logind.asked)
        logind.tell(True)
        await until(lambda: stand.heard == [True])
        stand.delay.release()
        logind.tell(False)
        await until(lambda: stand.heard == [True, False])
        await stand.delay.hold()
        await until(lambda: logind.held() == 1)
        assert len(logind.asked) == 2


async def test_a_delay_that_logind_does_not_allow_is_configured(logind: Logind, tmp_path: Path) -> None:
    async with running(90, tmp_path / "conf") as stand:
        await until(lambda: "graceful node shutdown is on" in stand.log.lines)
        assert logind.longest_s == 90


async def test_a_delay_that_cannot_be_had_turns_it_off_in_one_line(
    logind: Logind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podherd.logind.FIRST_S", 0.001)
    monkeypatch.setattr(logind, "read_config", lambda: None)
    stand = Stand(90, tmp_path / "conf")
    await stand.delay.run()
    (line,) = stand.log.lines
    assert line.startswith("graceful node shutdown is off: logind: allows 5 s of delay, and 90 s are wanted")
    assert logind.asked == []


async def test_a_shutdown_that_is_under_way_at_the_start_is_heard_of(logind: Logind, tmp_path: Path) -> None:
    logind.preparing = True
    async with running(5, tmp_path / "conf") as stand:
        await until(lambda: stand.heard == [True])
        assert logind.asked == []


async def test_without_logind_or_without_a_bus_it_is_off_in_one_line(
    bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in (bus.address, f"unix:path={tmp_path / 'none'}"):
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
        stand = Stand(5, tmp_path / "conf")
        await stand.delay.run()
        (line,) = stand.log.lines
        assert line.startswith("graceful node shutdown is off: ")


async def test_a_bus_that_breaks_off_is_joined_again_and_the_lock_is_kept_until_there_is_another(
    bus: Bus, tmp_path: Path
) -> None:
    async with own_logind(bus, tmp_path / "conf") as first, running(5, tmp_path / "conf") as stand:
        await until(lambda: first.asked)
        bus.stop()
        await until(lambda: any(line.startswith("shutdowns are not watched") for line in stand.log.lines))
        assert first.held() == 1
        bus.start()
        async with own_logind(bus, tmp_path / "conf") as second:
            await until(lambda: second.asked)
            await until(lambda: (first.held(), second.held()) == (0, 1))
            second.tell(True)
            await until(lambda: stand.heard == [True])
