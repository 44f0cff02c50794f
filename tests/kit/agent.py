"""A whole agent for tests: `podherd run` in its own processes, on directories of its own."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.kit.processes import command_line, parent_of

from podherd.agent import procs
from podherd.agent.admin import UnixConnection
from podherd.agent.provision import BUSYBOX
from podherd.agent.table import status_word

CONFIG = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\npodLogsDir: {logs}\n"
ANSWER_S = 5.0
STOP_S = 30


class Agent:
    """A started agent. `root` holds everything it writes; `manifests` is watched, `extra` goes to its config."""

    def __init__(self, root: Path, endpoint: str, extra: str = "") -> None:
        self.root = root
        self.manifests = root / "manifests"
        self.manifests.mkdir(exist_ok=True)
        self._endpoint = endpoint
        self._extra = extra
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *flags: str) -> None:
        """Run `podherd run` with its output in `<root>/agent.log`; an earlier run of it has ended."""
        if self._process is not None:
            self._process.wait(STOP_S)
        config = self.root / "config.yaml"
        config.write_text(CONFIG.format(logs=self.root / "logs" / "pods") + self._extra)
        command = [
            sys.executable, "-m", "podherd.agent.cli", "run", "--no-watch", "--config", str(config),
            "--root-dir", str(self.root / "agent"), "--manifests", str(self.manifests),
            "--runtime", self._endpoint, "--node-name", "test", *flags,
        ]  # fmt: skip
        with (self.root / "agent.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    @property
    def pid(self) -> int:
        """The process that a user starts: the Ray-free parent."""
        assert self._process is not None
        return self._process.pid

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it and return its exit code; killed when it does not end by itself."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(how)
        try:
            return await asyncio.to_thread(self._process.wait, STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise

    def get(self, path: str) -> Any:
        """The JSON answer of the admin API, or None while it does not answer."""
        connection = UnixConnection(self.root / "agent" / "podherd.sock", ANSWER_S)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def states(self) -> dict[str, str]:
        """STATUS by pod name without the node's suffix, as `podherd get pods` prints it; empty when it is away."""
        rows = (self.get("/v1/pods") or {"items": []})["items"]
        return {row["name"].removesuffix("-test"): status_word(row) for row in rows}

    def processes(self) -> dict[str, int]:
        """Process id by name: every actor, the raylet, the GCS, the driver."""
        rows = json.loads((self.root / "agent" / "run" / "actors.json").read_bytes())
        return {row["name"]: row["pid"] for row in rows} | {"driver": self.driver_pid()}

    def driver_pid(self) -> int:
        """The process that holds Ray's driver: it runs podherd.agent.driver, below the guard, below the parent."""
        drivers = (pid for pid in procs.tree([self.pid]) if b"podherd.agent.driver" in command_line(pid))
        return next(pid for pid in drivers if parent_of(parent_of(pid)) == self.pid)

    def put(self, name: str, manifest: str) -> None:
        """Write a manifest as an editor does: whole, by rename."""
        staged = self.manifests / f".{name}"
        staged.write_text(manifest)
        staged.rename(self.manifests / f"{name}.yaml")

    def log(self) -> str:
        """All that it printed."""
        return (self.root / "agent.log").read_text(errors="replace")


@asynccontextmanager
async def own_agent(root: Path, endpoint: str, *flags: str) -> AsyncIterator[Agent]:
    """A running agent; stopped at the end, its log printed, which pytest shows of a failed test."""
    async with running(Agent(root, endpoint), *flags) as agent:
        yield agent


@asynccontextmanager
async def running(agent: Agent, *flags: str) -> AsyncIterator[Agent]:
    """Run an agent whose manifests are there already."""
    agent.start(*flags)
    try:
        yield agent
    finally:
        await agent.stop()
        sys.stdout.write(agent.log())


def looping(name: str, word: str, grace_s: int = 1) -> str:
    """A pod of one container that runs until it is told to stop; `word` stands in its command line."""
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  terminationGracePeriodSeconds: {grace_s}
  containers:
  - name: main
    image: {BUSYBOX}
    command: ["/bin/sh", "-c", "trap 'exit 0' TERM; echo {word}; while :; do sleep 0.1; done"]
"""


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    return not procs.is_dead(pid)


def kill(pid: int) -> None:
    """SIGKILL one process."""
    os.kill(pid, signal.SIGKILL)
