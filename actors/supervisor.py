"""Starts the lean Ray and its actors, watches them, and reports every process to the parent. Runs in the driver.

Ray restarts an actor that died (`max_restarts=-1`); the supervisor kills one that no longer answers, so that Ray
does. What it cannot mend (the raylet, the GCS, itself) is the parent's to rebuild.
"""

import asyncio
import logging
import os
import pickle
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray
import structlog
from ray._private import services
from ray._private.node import Node
from ray._private.parameter import RayParams
from ray._raylet import persist_port  # type: ignore[attr-defined]
from ray.exceptions import ActorDiedError, ActorUnavailableError, RayError

from podherd.actors import ray_bus, roster
from podherd.actors.ray_settings import LOOPBACK, NAMESPACE, OBJECT_STORE_BYTES, ray_dir_of
from podherd.errors import PodherdError
from podherd.model.settings import Settings

PING_EVERY_S = 10.0
PING_WITHIN_S = 30.0
RETRY_S = 0.1
KEPT_SESSIONS = 1
"""Old session directories (Ray's logs) that a start leaves for people to read."""


@dataclass(slots=True)
class Seen:
    """One process of the agent: an actor, or `raylet` and `gcs_server`. at: since when it has this pid."""

    name: str
    pid: int
    restarts: int
    at: float


Report = Callable[[list[Seen], bool], None]
"""Hears every process known so far at each answer, and whether one of them is new."""

_AGENT_PORTS = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
_NO_PORT = -1
_STAND_IN = '/bin/sh -c "exec cat"'
"""Ends when its stdin does: with the raylet. Arguments that Ray adds fall to the shell."""


class RayStartError(PodherdError):
    """Ray cannot be started, or is not the Ray that this code knows."""


class LeanNode(Node):
    """A head node of a GCS and a raylet alone; Ray would start a dashboard server and two agents beside.

    The raylet insists on its agents: it gets two processes that do nothing, and their port files written for them.
    """

    def start_api_server(self, **_options: Any) -> None:
        """No dashboard."""
        self._webui_url = ""

    def start_raylet(self, *args: Any, **options: Any) -> None:
        """The raylet, its agents' commands replaced."""
        for port in _AGENT_PORTS:
            persist_port(self._session_dir, self._node_id, port, _NO_PORT)
        start_process = services.start_ray_process
        services.start_ray_process = lambda command, *more, **words: start_process(
            _without_agents(command), *more, **words
        )
        try:
            super().start_raylet(*args, **options)
        finally:
            services.start_ray_process = start_process


def _without_agents(command: list[str]) -> list[str]:
    flags = ("--dashboard_agent_command", "--runtime_env_agent_command")
    if not all(any(word.startswith(flag + "=") for word in command) for flag in flags):
        raise RayStartError(f"Ray {ray.__version__}", "the raylet's flags have changed", "install Ray 2.60")
    return [f"{flag}={_STAND_IN}" if (flag := word.partition("=")[0]) in flags else word for word in command]


def start_ray(ray_dir: Path) -> LeanNode:
    """A node on loopback, this process its driver. Must be called in the main thread: the node dies with it."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    params = RayParams(
        node_ip_address=LOOPBACK, num_cpus=0, num_gpus=0, object_store_memory=OBJECT_STORE_BYTES,
        include_dashboard=False, include_log_monitor=False, no_monitor=True, temp_dir=str(ray_dir),  # type: ignore[arg-type]
        setup_worker_path=str(Path(__file__).with_name("worker_entry.py")),
    )  # fmt: skip
    try:
        node = LeanNode(params, head=True, shutdown_at_exit=False, spawn_reaper=True)
        ray.init(address=node.address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
    except PodherdError:
        raise
    except Exception as error:
        reason = f"cannot be started: {type(error).__name__}: {error}"
        raise RayStartError(f"Ray {ray.__version__}", reason, f"its logs are in {ray_dir}") from error
    return node


def remove_old_sessions(ray_dir: Path) -> None:
    """Remove what dead Rays left, but for the last."""
    sessions = sorted(path for path in ray_dir.glob("session_2*") if path.is_dir())
    for path in sessions[: len(sessions) - KEPT_SESSIONS]:
        shutil.rmtree(path, ignore_errors=True)


class Supervisor:
    """One life of Ray and its actors. `run` ends only by an error or by being cancelled."""

    def __init__(self, settings: Settings, report: Report, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._report = report
        self._clock = clock
        self._names = roster.actor_names(settings.shards, settings.serves_api)
        self._handles: dict[str, Any] = {}
        self._seen: dict[str, Seen] = {}
        self._away: dict[str, float] = {}
        self._log = structlog.get_logger().bind(actor="supervisor")

    @property
    def complete(self) -> bool:
        """Whether every actor has answered once."""
        return all(name in self._seen for name in self._names)

    def start(self) -> None:
        """Start Ray and ask for every actor; returns before they run."""
        ray_dir = ray_dir_of(self._settings.root_dir)
        remove_old_sessions(ray_dir)
        for kind, infos in start_ray(ray_dir).all_processes.items():
            self._seen[kind] = Seen(kind, infos[0].process.pid, 0, self._clock())
        self._report(list(self._seen.values()), True)
        settings = pickle.dumps(self._settings)
        self._handles = {name: ray_bus.create(name, settings, self._names) for name in self._names}

    async def run(self) -> None:
        """Watch every actor for ever. Raises RayStartError for an actor that cannot be made."""
        async with asyncio.TaskGroup() as group:
            for name in self._names:
                group.create_task(self._watch(name), name=name)

    async def _watch(self, name: str) -> None:
        while True:
            pid = await self._ping(name)
            if pid is not None:
                self._note(name, pid)
                await _ended(pid, PING_EVERY_S)

    async def _ping(self, name: str) -> int | None:
        """The actor's pid, or None for no answer; one that gives none in time is killed."""
        try:
            async with asyncio.timeout(PING_WITHIN_S):
                pid: int = await self._handles[name].ping.remote()
                return pid
        except TimeoutError:
            self._log.error("actor does not answer and is killed", name=name, seconds=PING_WITHIN_S)
            self._kill(name)
        except ActorUnavailableError:
            await self._unavailable(name)
        except ActorDiedError as error:
            raise RayStartError(f"actor {name}", f"cannot be made: {error}", "see the agent's log") from error
        except RayError as error:
            self._log.error("actor cannot start and is killed", name=name, reason=str(error))
            self._kill(name)
            await asyncio.sleep(1.0)
        return None

    async def _unavailable(self, name: str) -> None:
        """Ray starts it anew; one that gets stuck on the way there answers nothing and is known by no pid."""
        since = self._away.setdefault(name, self._clock())
        if self._clock() - since > PING_WITHIN_S:
            self._log.error("actor does not come back and is killed", name=name, seconds=PING_WITHIN_S)
            ray.kill(self._handles[name], no_restart=False)
            del self._away[name]
        await asyncio.sleep(RETRY_S)

    def _kill(self, name: str) -> None:
        """By the pid that answered last; Ray's own way for one that has none, or whose process is gone."""
        seen = self._seen.get(name)
        if seen is not None and _is_actor(seen.pid):
            os.kill(seen.pid, signal.SIGKILL)
        else:
            ray.kill(self._handles[name], no_restart=False)

    def _note(self, name: str, pid: int) -> None:
        self._away.pop(name, None)
        seen = self._seen.get(name)
        new = seen is None or seen.pid != pid
        if seen is None:
            seen = self._seen[name] = Seen(name, pid, 0, 0.0)
        elif new:
            self._log.warning("actor restarted", name=name, pid=pid, was=seen.pid)
            seen.pid = pid
            seen.restarts += 1
        if new:
            seen.at = self._clock()
        self._report(list(self._seen.values()), new)


def _is_actor(pid: int) -> bool:
    """Whether the process is a Ray worker: a pid may have gone to a stranger since."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::")
    except OSError:
        return False


async def _ended(pid: int, seconds: float) -> None:
    """Wait until the process ends, at most so long."""
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(pidfd, ended.set)
    try:
        async with asyncio.timeout(seconds):
            await ended.wait()
    except TimeoutError:
        return
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)
