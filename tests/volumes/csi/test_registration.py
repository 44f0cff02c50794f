"""Drivers that come, go and fail to be registered, through real sockets."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import grpc
import pytest
from tests.kit.csi_driver import NAME, CsiDriver, serving
from tests.kit.waiting import until

from podherd.errors import ApiError
from podherd.volumes.csi import registration
from podherd.volumes.csi.registration import Driver, Registrar


class Heard:
    """What the node actor would hear; `refusals` of the API are used up one by one."""

    def __init__(self) -> None:
        self.sockets: Mapping[str, str] = {}
        self.installed: list[Driver] = []
        self.uninstalled: list[str] = []
        self.refusals: list[str] = []
        self.logged: list[str] = []

    def told(self, sockets: Mapping[str, str]) -> None:
        self.sockets = sockets

    async def install(self, driver: Driver) -> None:
        if self.refusals:
            raise ApiError("csinodes", 0, "", self.refusals.pop(0))
        self.installed.append(driver)

    async def uninstall(self, name: str) -> None:
        if self.refusals:
            raise ApiError("csinodes", 0, "", self.refusals.pop(0))
        self.uninstalled.append(name)

    def log(self, thing: str, reason: str) -> None:
        self.logged.append(f"{thing}: {reason}")


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def short_path() -> Iterator[Path]:
    """The path of a socket has at most 107 characters."""
    with TemporaryDirectory(prefix="csi") as path:
        yield Path(path)


@pytest.fixture
async def registry(short_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Path]:
    monkeypatch.setattr(registration, "RETRY_S", 0.01)
    monkeypatch.setattr(registration, "LOOK_S", 0.05)
    registrar = Registrar(str(short_path), heard.told, heard.install, heard.uninstall, heard.log)
    task = asyncio.create_task(registrar.run())
    path = short_path / "plugins_registry"
    await until(path.is_dir)
    yield path
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def registering(driver: CsiDriver, registry: Path) -> AsyncIterator[None]:
    """The driver and, beside it, its registrar; the socket of that is gone at the end, as when its pod ends."""
    socket = registry / f"{driver.name}-reg.sock"
    async with serving(driver), serving(driver, str(socket)):
        yield
    socket.unlink(missing_ok=True)


@pytest.fixture
def driver(short_path: Path) -> CsiDriver:
    return CsiDriver(short_path / "driver")


async def test_a_driver_is_told_with_its_socket_and_what_the_node_is_to_it(
    registry: Path, heard: Heard, driver: CsiDriver
) -> None:
    async with registering(driver, registry):
        await until(lambda: driver.told and heard.sockets)
        assert driver.told == [(True, "")]
        assert heard.sockets == {NAME: driver.socket}
        (one,) = heard.installed
        assert (one.info.node_id, one.info.max_volumes, one.info.topology) == ("node-7", 9, {"rack": "r1"})


async def test_a_driver_that_goes_is_taken_out_again(registry: Path, heard: Heard, driver: CsiDriver) -> None:
    async with registering(driver, registry):
        await until(lambda: heard.sockets)
        heard.refusals = ["the API is away"]
    await until(lambda: heard.uninstalled)
    assert heard.uninstalled == [NAME]
    assert heard.sockets == {}


async def test_a_driver_that_restarts_is_registered_anew_and_not_taken_out(
    registry: Path, heard: Heard, driver: CsiDriver
) -> None:
    socket = registry / "reg.sock"
    async with serving(driver):
        async with serving(driver, str(socket)):
            await until(lambda: len(driver.told) == 1)
        async with serving(driver, str(registry / ".new.sock")):
            os.rename(registry / ".new.sock", socket)
            await until(lambda: len(driver.told) == 2)
    assert len(heard.installed) == 2
    assert heard.sockets == {NAME: driver.socket}


async def test_the_registrar_hears_why_its_driver_is_not_registered_and_it_is_tried_again(
    registry: Path, heard: Heard, driver: CsiDriver
) -> None:
    heard.refusals = ["the API is away"]
    async with registering(driver, registry):
        await until(lambda: len(driver.told) == 2)
    (ok, why), again = driver.told
    assert not ok
    assert "the API is away" in why
    assert again == (True, "")
    assert len(heard.installed) == 1


async def test_a_driver_that_does_not_answer_yet_is_asked_again(
    registry: Path, heard: Heard, driver: CsiDriver
) -> None:
    driver.failures["NodeGetInfo"] = [(grpc.StatusCode.UNAVAILABLE, "starting")] * 2
    async with registering(driver, registry):
        await until(lambda: heard.sockets)
    assert len(driver.asked("NodeGetInfo")) == 3


@pytest.mark.parametrize(
    ("kind", "versions", "name", "words"),
    [
        ("DevicePlugin", ["1.0.0"], NAME, "no handler registered for plugin type: DevicePlugin"),
        ("CSIPlugin", ["2.0.0"], NAME, "none of its versions 2.0.0 is 1.x"),
        ("CSIPlugin", [], NAME, "none of its versions (it tells none) is 1.x"),
        ("CSIPlugin", ["1.0.0"], "../x", "has a name that cannot be used"),
    ],
)
async def test_a_plugin_that_is_no_use_is_told_so(
    registry: Path, heard: Heard, short_path: Path, kind: str, versions: list[str], name: str, words: str
) -> None:
    driver = CsiDriver(short_path / "driver", name=name)
    driver.kind, driver.versions = kind, versions
    async with serving(driver), serving(driver, str(registry / "reg.sock")):
        await until(lambda: driver.told)
        assert not driver.told[0][0]
        assert words in driver.told[0][1]
    assert heard.sockets == {}


async def test_a_socket_behind_which_nobody_listens_holds_up_no_other(
    registry: Path, heard: Heard, driver: CsiDriver, short_path: Path
) -> None:
    async with serving(CsiDriver(short_path / "dead"), str(registry / "dead.sock")):
        os.link(registry / "dead.sock", registry / "kept.sock")
    async with registering(driver, registry):
        await until(lambda: heard.sockets == {NAME: driver.socket})
