"""The one place where a plain shell becomes a Ray actor, and where frames become Ray calls."""

import asyncio
import os
import pickle
from typing import Any

import ray
from ray.exceptions import RayError

from podherd.actors import logs, roster
from podherd.actors.bus import DeliveryError
from podherd.actors.ray_settings import NAMESPACE
from podherd.model.settings import Settings

DELIVER_S = 30.0
"""A receiver that has not handled a frame after this counts as away; the supervisor deals with a stuck one."""
MAX_CONCURRENCY = 1000


class RayBus:
    """A Bus over named actors. Handles are looked up once, and again after a failure."""

    def __init__(self, topology: tuple[str, ...]) -> None:
        self._topology = topology
        self._doors: dict[str, Any] = {}

    async def deliver(self, receiver: str, frame: bytes) -> None:
        """Return once the receiver has handled the frame; DeliveryError when it is dead, restarting or unknown."""
        try:
            door = self._doors.get(receiver) or await self._look_up(receiver)
            async with asyncio.timeout(DELIVER_S):
                await door(frame)
        except (RayError, ValueError, TimeoutError) as error:
            self._doors.pop(receiver, None)
            raise DeliveryError(receiver, f"{type(error).__name__}: {_first_line(error)}", "it is retried") from error

    async def _look_up(self, receiver: str) -> Any:
        # The lookup is a blocking call of the GCS, which may be away.
        handle = await asyncio.to_thread(ray.get_actor, receiver, NAMESPACE)
        self._doors[receiver] = handle.deliver.remote
        return self._doors[receiver]

    def peers(self, role: str) -> tuple[str, ...]:
        """The names of every actor of this role."""
        return roster.peers(self._topology, role)


class ActorHost:
    """What Ray runs: it builds the shell and starts it by itself, also after a restart, when nobody else would."""

    def __init__(self, name: str, settings: bytes, topology: tuple[str, ...]) -> None:
        told: Settings = pickle.loads(settings)
        logs.configure(told)
        self._log = logs.logger(name)
        self._shell = roster.shell_class(name)(name, told, RayBus(topology))
        # Ray makes an actor with async methods inside its event loop.
        self._starting = asyncio.create_task(self._shell.start(), name="start")
        self._started = False
        self._name = name

    async def start(self) -> None:
        """Return once the shell has started; its error if it could not."""
        if not self._started:
            await asyncio.shield(self._starting)
            self._started = True

    async def deliver(self, frame: bytes) -> None:
        """Give the shell a frame. An error of the shell is logged: the same frame again would meet it again."""
        await self.start()
        try:
            await self._shell.deliver(frame)
        except Exception:
            self._log.exception("frame not handled", bytes=len(frame))

    async def ping(self) -> int:
        """The actor's process id, once the shell has started."""
        await self.start()
        # Ray names the process after the class when it has made the actor; a person wants the actor's name.
        ray._raylet.setproctitle(f"ray::{self._name}")  # type: ignore[attr-defined]
        return os.getpid()


def create(name: str, settings: bytes, topology: tuple[str, ...]) -> Any:
    """Ask Ray for the actor and return its handle; it is made in a worker process of its own, for ever anew."""
    options = {
        "name": name, "namespace": NAMESPACE, "num_cpus": 0, "max_restarts": -1, "max_task_retries": 0,
        "max_concurrency": MAX_CONCURRENCY, "enable_task_events": False,
    }  # fmt: skip
    return ray.remote(ActorHost).options(**options).remote(name, settings, topology)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:200]
