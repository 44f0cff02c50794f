"""A whole agent on real Ray and a hollow runtime, in its own processes, for tests that kill parts of it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.processes import command_line

from podherd.actors.ray_settings import MARKER
from podherd.agent import procs
from podherd.agent.admin import Admin, AgentAwayError, AnswerError

RUN = """
import sys
from pathlib import Path
from podherd.agent import parent
from podherd.model.settings import Settings
root = Path(sys.argv[1])
settings = Settings(node_name="n1", root_dir=root, runtime_endpoint="hollow", manifests=root / "manifests",
                    pod_logs_dir=root / "logs", drain_on_exit=sys.argv[2] == "drain")
sys.exit(parent.run(settings, lambda line: print(line, flush=True)))
"""
WORKER_WITH_FAMILY = """
import subprocess, sys
names = [word.rpartition("/")[2] for word in sys.orig_argv]
if "default_worker.py" in names and "worker_entry.py" not in names:
    subprocess.Popen(["sh", "-c", "S='sleep 900 0.{tag}'; $S & setsid $S & setsid env -i $S & exec $S"])
"""
"""As sitecustomize: every actor's process has a child, and by that three grandchildren: one like itself, one in a
session of its own, and one of these without any environment (case TERM-3)."""
FAMILY = 4


def say(line: str) -> None:
    """A figure for people (`pytest -s`), never judged."""
    sys.stdout.write(f"{line}\n")


class Agent:
    """An agent under test. Its root is a short path: Ray's sockets lie in it."""

    def __init__(self, root: Path, children: bool = False, drain: bool = False) -> None:
        self.root = root
        self.manifests = root / "manifests"
        self.manifests.mkdir(parents=True, exist_ok=True)
        self._tag = f"{os.getpid()}{time.monotonic_ns()}"
        environment = dict(os.environ)
        if children:
            (root / "site").mkdir()
            (root / "site" / "sitecustomize.py").write_text(WORKER_WITH_FAMILY.format(tag=self._tag))
            environment["PYTHONPATH"] = os.pathsep.join(
                [str(root / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
            )
        self.out = root / "out"
        with self.out.open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", RUN, str(root), "drain" if drain else "keep"],
                stdout=out, stderr=out, env=environment, start_new_session=True,
            )  # fmt: skip
        self.begun_at = time.monotonic()

    def pids(self) -> dict[str, int]:
        """Every process that the agent tells of, by name."""
        try:
            return {each["name"]: each["pid"] for each in json.loads((self.root / "run" / "actors.json").read_text())}
        except (OSError, ValueError):
            return {}

    def actors(self) -> list[str]:
        return [name for name in self.pids() if name not in ("raylet", "gcs_server")]

    def tree(self) -> set[int]:
        """Every living process of any life of this agent's Ray, the actors' children too."""
        mark = f"{self.process.pid}-"
        found = {pid for pid in procs.all_pids() if procs.environment_value(pid, MARKER).startswith(mark)}
        return {pid for pid in found if not procs.is_dead(pid)} | self.children()

    def children(self) -> set[int]:
        """Every living process that an actor, alive or dead, has started."""
        ending = f"0.{self._tag}\0".encode()
        return {pid for pid in procs.all_pids() if command_line(pid).endswith(ending)}

    def wait(self, what: str, done: Callable[[], Any], seconds: float = 60.0) -> float:
        """Wait for a condition; how long it took."""
        begin = time.monotonic()
        while not done():
            if time.monotonic() - begin > seconds:
                raise AssertionError(f"{what}: not within {seconds:g} s\n{self.out.read_text()[-3000:]}")
            time.sleep(0.05)
        return time.monotonic() - begin

    def pods(self) -> dict[str, dict[str, Any]]:
        """The agent's pods by name; none while it does not answer."""
        try:
            items = Admin(self.root).get("pods")["items"]
        except (AgentAwayError, AnswerError, OSError):
            return {}
        return {pod["name"]: pod for pod in items}

    def add(self, name: str) -> None:
        """Add a manifest."""
        new = self.root / f"{name}.new"
        pod = {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "chaos"},
            "spec": {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "img:1"}]},
        }  # fmt: skip
        new.write_text(json.dumps(pod))
        new.rename(self.manifests / f"{name}.yaml")

    def running(self, name: str) -> bool:
        return self.pods().get(f"{name}-n1", {}).get("status", {}).get("phase") == "Running"

    def serves(self, name: str, seconds: float) -> float:
        """Add a pod and wait until it runs; how long it took."""
        self.add(name)
        return self.wait(f"pod {name}", lambda: self.running(name), seconds)

    def containers(self) -> dict[str, tuple[str, int]]:
        """Container id and restart count of each pod."""
        return {
            name: (status[0]["containerID"], status[0]["restartCount"])
            for name, pod in self.pods().items()
            if (status := pod["status"].get("containerStatuses"))
        }

    def complete(self) -> bool:
        return len(self.pids()) == 8 and not any(procs.is_dead(pid) for pid in self.pids().values())

    def ended(self) -> bool:
        return self.process.poll() is not None

    def stop(self) -> None:
        """End it, whatever state it is in."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@pytest.fixture
def family() -> int:
    """So many processes has each actor of an agent with children started, itself not counted."""
    return FAMILY


@pytest.fixture(name="say")
def _say() -> Callable[[str], None]:
    return say


@pytest.fixture
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="pod-", ignore_cleanup_errors=True) as name:
        yield Path(name)


@pytest.fixture
def start(root: Path) -> Iterator[Callable[..., Agent]]:
    """Starts an agent and waits until its actors run."""
    agents: list[Agent] = []

    def begin(**words: Any) -> Agent:
        agent = Agent(root, **words)
        agents.append(agent)
        seconds = agent.wait("the actors", agent.complete, 120)
        say(f"agent complete after {seconds:.1f} s")
        return agent

    yield begin
    for agent in agents:
        agent.stop()
