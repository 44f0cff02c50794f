"""The served thing: runtime, services and timers on one event loop, one gRPC server on one unix socket."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from time import time_ns

from podherd.errors import ConfigError
from podherd.hollow.container_calls import ContainerCalls
from podherd.hollow.control_calls import SERVICE, ControlCalls
from podherd.hollow.door import Door
from podherd.hollow.events import Broadcast
from podherd.hollow.exec_calls import ExecCalls
from podherd.hollow.faults import Faults
from podherd.hollow.http2 import Connection, Streaming, Unary
from podherd.hollow.image_calls import ImageCalls
from podherd.hollow.journal import Tally
from podherd.hollow.node_calls import NodeCalls
from podherd.hollow.refusal import RefusedError
from podherd.hollow.requests import describe
from podherd.hollow.runtime import Runtime
from podherd.hollow.sandbox_calls import SandboxCalls
from podherd.hollow.streaming import StreamServer
from podherd.hollow.timers import Timers
from podherd.model.sockets import SOCKET_PATH_BYTES

RUNTIME_SERVICE = "runtime.v1.RuntimeService"
IMAGE_SERVICE = "runtime.v1.ImageService"


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    socket: Path
    script: Path | None = None
    images: tuple[str, ...] = ()
    shuffle: bool = False
    events: bool = True
    log_dir_writes: bool = False
    cgroup_driver: str = "cgroupfs"
    seed: int | None = None
    """Of ids and shuffling; None: random."""

    @property
    def endpoint(self) -> str:
        """`unix:///path`."""
        return f"unix://{self.socket.absolute()}"


def claim(path: Path) -> None:
    """Make the way free for a socket here: its directory, and away with a stale one. Raises ConfigError."""
    if len(os.fsencode(path.absolute())) > SOCKET_PATH_BYTES:
        raise ConfigError(str(path), f"is longer than {SOCKET_PATH_BYTES} bytes", "choose a shorter --socket")
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        return
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise ConfigError(str(path), "is there and no socket", "choose another --socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except FileNotFoundError:
            return
    raise ConfigError(str(path), "a live server listens there already", "stop it or choose another --socket")


class HollowServer:
    """One pretend runtime. Build it on a running loop; `start`, `stop`; the records live as long as the object."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.runtime = Runtime(Timers(time_ns, self._wake), Random(options.seed), options.shuffle)
        ledger = self.runtime.ledger
        self.events = Broadcast(time_ns, options.events)
        ledger.tell = self.events.tell
        node = NodeCalls(options.cgroup_driver)
        self._streams = StreamServer()
        self._door = Door(Faults(), Tally(), ledger.journal, partial(describe, ledger), time_ns)
        self._control = ControlCalls(self.runtime, self._door, self.events, node)
        self._control.restart = self._begin_restart
        runtime_calls = (
            node.table()
            | SandboxCalls(self.runtime).table()
            | ContainerCalls(self.runtime, options.log_dir_writes).table()
            | ExecCalls(self.runtime, self._streams).table()
        )
        tables = {
            RUNTIME_SERVICE: runtime_calls,
            IMAGE_SERVICE: ImageCalls(self.runtime).table(),
            SERVICE: self._control.table(),
        }
        self._routes: dict[bytes, tuple[Unary | None, Streaming | None]] = {
            f"/{service}/{name}".encode(): (self._door.unary(name, call, faulty=service != SERVICE), None)
            for service, table in tables.items()
            for name, call in table.items()
        }
        self._routes[f"/{RUNTIME_SERVICE}/GetContainerEvents".encode()] = (None, self._stream)
        self._connections: set[Connection] = set()
        self._server: asyncio.Server | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._restarting: asyncio.Task[None] | None = None
        for image in options.images:
            self.runtime.images.add(image, pinned="/pause" in image)

    def reload(self) -> None:
        """Follow the script file as it is now. Raises ConfigError and keeps the old rules then."""
        if self.options.script is not None:
            self._control.follow_file(self.options.script)

    async def start(self) -> None:
        """Serve. Raises ConfigError when the socket cannot be had or the script cannot be read."""
        claim(self.options.socket)
        self.reload()
        await self._listen()

    async def _listen(self) -> None:
        loop, path = asyncio.get_running_loop(), str(self.options.socket)
        try:
            self._server = await loop.create_unix_server(partial(Connection, self._routes, self._connections), path)
        except OSError as error:
            raise ConfigError(path, f"cannot be listened on: {error.strerror or error}") from error
        self.options.socket.chmod(0o600)

    async def stop(self) -> None:
        """Break what is in flight and leave the socket; harmless when it does not serve."""
        if self._restarting is not None:
            self._restarting.cancel()
            await asyncio.gather(self._restarting, return_exceptions=True)
        await self._leave()
        if self._alarm is not None:
            self._alarm.cancel()

    async def _leave(self) -> None:
        await self._streams.close()
        server, self._server = self._server, None
        if server is not None:
            server.close()
            self.options.socket.unlink(missing_ok=True)
            for connection in list(self._connections):
                connection.close()
            await server.wait_closed()

    def _begin_restart(self, down_s: float) -> None:
        self._restarting = asyncio.get_running_loop().create_task(self._restart(down_s))

    async def _restart(self, down_s: float) -> None:
        await asyncio.sleep(0.02)  # the reply to Restart itself leaves first
        await self._leave()
        await asyncio.sleep(down_s)
        await self._listen()

    async def _stream(self, _request: bytes) -> AsyncIterator[bytes]:
        self._door.tally.calls["GetContainerEvents"] += 1
        if not self.events.on:
            raise RefusedError("UNIMPLEMENTED", "container events are off")
        subscriber = self.events.subscribe()
        try:
            async for event in subscriber.events():
                yield event
        finally:
            self.events.leave(subscriber)
        raise RefusedError("UNAVAILABLE", "container events subscription closed by server")

    def _wake(self, when_ns: int) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        delay_s = max(0.0, (when_ns - time_ns()) / 1e9)
        self._alarm = asyncio.get_running_loop().call_later(delay_s, self.runtime.timers.run_due)
