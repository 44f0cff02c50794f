"""One agent on one hollow runtime, for a benchmark: both in their own processes, on directories of their own."""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podherd.agent.admin import UnixConnection

ANSWER_S = 10.0
IMAGE = "bench.local/pause:1"
CONFIG = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@dataclass(frozen=True, slots=True)
class Herd:
    """A running agent and its hollow runtime."""

    root: Path
    agent: subprocess.Popen[bytes]
    hollow: subprocess.Popen[bytes]

    @property
    def manifests(self) -> Path:
        """The directory that the agent watches."""
        return self.root / "manifests"

    def actors(self) -> dict[int, str]:
        """The name of each actor by its process id."""
        rows = json.loads((self.root / "a" / "run" / "actors.json").read_bytes())
        return {row["pid"]: row["name"] for row in rows}

    def summary(self) -> dict[str, Any] | None:
        """The agent's pod counts (`pods`, `phases`), or None while it does not answer."""
        body = self._get("/v1/summary")
        return None if body is None else json.loads(body)

    def healthy(self) -> bool:
        """Whether every part of the agent works: actors, runtime, PLEG."""
        return self._get("/healthz") == b"ok"

    def _get(self, path: str) -> bytes | None:
        connection = UnixConnection(self.root / "a" / "podherd.sock", ANSWER_S)
        try:
            connection.request("GET", path)
            return connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def manifest(index: int) -> str:
    """A small pod of one container, as JSON (which is YAML too)."""
    return f"""apiVersion: v1
kind: Pod
metadata:
  name: bench-{index:05d}
  namespace: bench
  labels: {{app: bench, index: "{index}"}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: {IMAGE}
    command: ["/pause"]
    env: [{{name: INDEX, value: "{index}"}}]
    resources: {{requests: {{cpu: 1m, memory: 1Mi}}}}
"""


def add_pods(herd: Herd, count: int) -> None:
    """Put `count` manifests in the watched directory, each complete from its first moment (by rename)."""
    staging = Path(tempfile.mkdtemp(dir=herd.root))
    for index in range(count):
        (staging / f"bench-{index:05d}.yaml").write_text(manifest(index))
    for path in sorted(staging.iterdir()):
        path.rename(herd.manifests / path.name)
    staging.rmdir()


def wait_for(done: Callable[[], bool], what: str, seconds: float, every_s: float = 0.1) -> float:
    """Seconds until `done()`; raises TimeoutError naming `what` after `seconds`."""
    begin = time.monotonic()
    while not done():
        if time.monotonic() - begin > seconds:
            raise TimeoutError(f"{what}: not within {seconds:.0f} s")
        time.sleep(every_s)
    return time.monotonic() - begin


@contextmanager
def running(shards: int) -> Iterator[Herd]:
    """An agent with an empty manifest directory on a hollow runtime, both ready; stopped and removed at the end."""
    with tempfile.TemporaryDirectory(prefix="pb-", dir=_quiet_dir()) as name:
        root = Path(name)
        (root / "manifests").mkdir()
        with (root / "agent.log").open("wb") as log:
            hollow = _hollow(root)
            agent = _agent(root, shards, log.fileno())
            herd = Herd(root, agent, hollow)
            try:
                wait_for(lambda: _ready(herd), "the agent's first answer", 120)
                yield herd
            except Exception:
                sys.stderr.write((root / "agent.log").read_text(errors="replace")[-4000:])
                raise
            finally:
                _stop(agent)
                _stop(hollow)


def _quiet_dir() -> str | None:
    """A tmpfs where there is one: a busy disk's file system would be measured in place of the agent."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _ready(herd: Herd) -> bool:
    if herd.agent.poll() is not None:
        raise RuntimeError(f"the agent ended with {herd.agent.returncode}")
    return herd.healthy()


def _hollow(root: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "podherd.hollow", "--socket", str(root / "hollow.sock"), "--shuffle"]
    hollow = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert hollow.stdout is not None
    if not hollow.stdout.readline().startswith(b"ready"):
        raise RuntimeError("the hollow runtime did not start")
    return hollow


def _agent(root: Path, shards: int, log: int) -> subprocess.Popen[bytes]:
    config = root / "config.yaml"
    config.write_text(CONFIG + f"podLogsDir: {root}/logs/pods\n")
    command = [
        sys.executable, "-m", "podherd.agent.cli", "run", "--no-watch", "--config", str(config),
        "--root-dir", str(root / "a"), "--manifests", str(root / "manifests"),
        "--runtime", f"unix://{root}/hollow.sock", "--node-name", "bench", "--shards", str(shards),
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
