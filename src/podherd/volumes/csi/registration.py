"""Which CSI drivers are on this node: sockets in `<root>/plugins_registry` (kubelet behaviour, section 13.7).

A registrar beside each driver opens a socket there. It is asked who it is, the driver what this node is to it; what
comes of that is put into the API (`Install`), and then the registrar is told that its driver is registered.
"""

import asyncio
import os
import stat
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from podherd.errors import PodherdError
from podherd.sources.watch import Watch
from podherd.volumes.csi.client import NodeInfo, Plugin
from podherd.volumes.errors import VolumeError

REGISTRY = "plugins_registry"
KIND = "CSIPlugin"
ASK_S = 1.0
NOTIFY_S = 5.0
LOOK_S = 10.0
"""The directory is looked through so often, whether or not a change was heard of."""
RETRY_S = 0.5
RETRY_MAX_S = 122.0


@dataclass(frozen=True, slots=True)
class Driver:
    """A registered driver: where it listens, and what this node is to it."""

    name: str
    socket: str
    info: NodeInfo


Install = Callable[[Driver], Awaitable[None]]
"""Tells the API of a driver. Raises PodherdError; then the driver is not registered, and tried again."""
Uninstall = Callable[[str], Awaitable[None]]
"""Tells the API that the driver of this name is gone. Raises PodherdError."""
Told = Callable[[Mapping[str, str]], None]
"""Hears the sockets of all drivers by name, each time that they change."""
Log = Callable[[str, str], None]
"""What went wrong with which socket, and why."""


class _Mark(NamedTuple):
    """A socket that was opened anew is another one."""

    inode: int
    changed_ns: int


@dataclass(slots=True)
class _Socket:
    mark: _Mark
    driver: Driver | None = None
    tries: int = 0
    due_at: float = 0.0


@dataclass(slots=True)
class Registrar:
    """`run` is its one task. gone: drivers whose removal the API has not heard of yet."""

    root: str
    told: Told
    install: Install
    uninstall: Uninstall
    log: Log
    _sockets: dict[str, _Socket] = field(default_factory=dict)
    _gone: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Register and unregister drivers, for ever."""
        directory = f"{self.root}/{REGISTRY}"
        watch = Watch()
        try:
            while True:
                if not watch.active and _made(directory):
                    await watch.arm(directory)
                await self._look_safely(directory)
                await watch.changes(self._pause_s())
        finally:
            await watch.close()

    async def look(self, directory: str) -> None:
        """One look through the directory: forget what is gone, try what is new or due again, side by side."""
        found = await asyncio.to_thread(_sockets_in, directory)
        for path in self._sockets.keys() - found.keys():
            self._drop(path)
        for path, mark in found.items():
            if path in self._sockets and self._sockets[path].mark != mark:
                self._drop(path)
            self._sockets.setdefault(path, _Socket(mark))
        now = asyncio.get_running_loop().time()
        due = [(path, one) for path, one in self._sockets.items() if one.driver is None and one.due_at <= now]
        await asyncio.gather(*(self._try(path, one) for path, one in due), *(self._end(name) for name in [*self._gone]))

    async def _look_safely(self, directory: str) -> None:
        """Whatever a driver's answer sets off costs this one look, and no node."""
        try:
            await self.look(directory)
        except Exception as error:
            self.log(directory, f"{type(error).__name__}: {error}")
            await asyncio.sleep(RETRY_S)

    def drivers(self) -> dict[str, str]:
        """The sockets of all registered drivers by name."""
        return {one.driver.name: one.driver.socket for one in self._sockets.values() if one.driver is not None}

    def _pause_s(self) -> float:
        now = asyncio.get_running_loop().time()
        waits = [one.due_at - now for one in self._sockets.values() if one.driver is None]
        return max(RETRY_S / 10, min([LOOK_S, *waits]))

    def _drop(self, path: str) -> None:
        one = self._sockets.pop(path)
        if one.driver is not None and one.driver.name not in self.drivers():
            self._gone.add(one.driver.name)
            self.told(self.drivers())

    async def _end(self, name: str) -> None:
        if name in self.drivers():
            self._gone.discard(name)
            return
        try:
            await self.uninstall(name)
        except PodherdError as error:
            self.log(f"CSI driver {name} cannot be taken out of the API", str(error))
            return
        self._gone.discard(name)

    async def _try(self, path: str, one: _Socket) -> None:
        try:
            driver = await self._register(path)
        except PodherdError as error:
            self.log(path, str(error))
            one.due_at = asyncio.get_running_loop().time() + min(RETRY_S * 2**one.tries, RETRY_MAX_S)
            one.tries = min(one.tries + 1, 16)
            return
        one.driver, one.tries = driver, 0
        self._gone.discard(driver.name)
        self.told(self.drivers())

    async def _register(self, path: str) -> Driver:
        async with Plugin(path) as registrar:
            info = await registrar.registration("GetInfo", ASK_S)
            try:
                driver = await self._driver(info.type, info.name, info.endpoint or path, tuple(info.supported_versions))
                await self.install(driver)
            except PodherdError as error:
                words = f"RegisterPlugin error -- plugin registration failed with err: {error}"
                await registrar.registration("NotifyRegistrationStatus", NOTIFY_S, plugin_registered=False, error=words)
                raise
            await registrar.registration("NotifyRegistrationStatus", NOTIFY_S, plugin_registered=True)
            return driver

    async def _driver(self, kind: str, name: str, socket: str, versions: tuple[str, ...]) -> Driver:
        """What the driver behind a registrar is. Raises VolumeError for one that cannot be used."""
        if kind != KIND:
            raise VolumeError(f"plugin {name}", f"no handler registered for plugin type: {kind}")
        if not name or "/" in name or name in (".", ".."):
            raise VolumeError(f"CSI driver {name!r:.80}", "has a name that cannot be used")
        if not any(version.removeprefix("v").partition(".")[0] == "1" for version in versions):
            reason = f"none of its versions {', '.join(versions) or '(it tells none)'} is 1.x"
            raise VolumeError(f"CSI driver {name}", reason, "use a driver for CSI 1.x")
        async with Plugin(socket) as driver:
            info = await driver.node_info()
        if not info.node_id:
            raise VolumeError(f"CSI driver {name}", "tells no node id")
        return Driver(name, socket, info)


def _made(directory: str) -> bool:
    try:
        os.makedirs(directory, 0o750, exist_ok=True)
    except OSError:
        return False
    return True


def _sockets_in(directory: str) -> dict[str, _Mark]:
    """Every socket below the directory, by path; what begins with a dot is none of ours."""
    found: dict[str, _Mark] = {}
    for above, folders, names in os.walk(directory):
        folders[:] = [folder for folder in folders if not folder.startswith(".")]
        for name in names:
            path = f"{above}/{name}"
            try:
                status = os.lstat(path)
            except OSError:
                continue
            if stat.S_ISSOCK(status.st_mode) and not name.startswith("."):
                found[path] = _Mark(status.st_ino, status.st_ctime_ns)
    return found
