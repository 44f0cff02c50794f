"""Random kills over real pods: whatever dies, the end state is right and no healthy pod's container is restarted.

Shims are killed of every fourth pod only: those pods restart as often as that, and the others never.

`KILLS` and `SEED` in the environment choose how many and which; `make soak` asks for 500.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Callable
from random import Random

import pytest
from tests.kit.agent import Agent, alive, kill
from tests.kit.processes import command_line, parent_of
from tests.kit.table import SLEEP
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX, Containerd

KILLS = int(os.environ.get("KILLS", "12"))
SEED = int(os.environ.get("SEED", "1"))
PODS = int(os.environ.get("PODS", "40"))
BACK_S = 90.0
SETTLE_S = 400.0
KINDS = ("actor", "actor", "actor", "actor", "actor", "shim", "shim", "containerd", "ray")
RAY = ("raylet", "gcs_server", "driver")
NAME = re.compile(rb"echo (pod-\d+)")


def manifest(number: int) -> str:
    """A pod that runs until it is stopped: every fourth one has an init container and a sidecar."""
    sleep = SLEEP.replace("$", "$$")
    body = f'image: {BUSYBOX}, command: [/bin/sh, -c, "echo pod-{number}; {sleep}"]'
    inits = f"""
  initContainers:
  - {{name: setup, image: {BUSYBOX}, command: ["true"]}}
  - {{name: proxy, restartPolicy: Always, image: {BUSYBOX}, command: [/bin/sh, -c, "{sleep}"]}}"""
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: pod-{number}}}
spec:
  terminationGracePeriodSeconds: 1{inits if number % 4 == 0 else ""}
  containers:
  - {{name: main, {body}}}
"""


class Node:
    """What runs, by the runtime's word; and what of it has been killed by us."""

    def __init__(self, agent: Agent, runtime: Containerd, dice: Random) -> None:
        self._agent = agent
        self._runtime = runtime
        self._dice = dice
        self.hurt: Counter[str] = Counter()
        self.done: Counter[str] = Counter()

    def mains(self) -> dict[str, tuple[str, int]]:
        """Container id and process of each pod's main container that runs."""
        found = {}
        assert self._runtime.pid, f"containerd ended by itself: {self._runtime.log.read_text()[-3000:]}"
        for line in self._runtime.ctr("tasks", "ls").splitlines()[1:]:
            container, pid, state = line.split()
            if state == "RUNNING" and (match := NAME.search(command_line(int(pid)))):
                found[match[1].decode()] = (container, int(pid))
        return found

    async def kill_one(self) -> None:
        """Kill something, and wait until it is back; sometimes only half a second."""
        kind = self._dice.choice(KINDS)
        self.done[kind] += 1
        await getattr(self, f"_{kind}")()

    async def _actor(self) -> None:
        processes = await self._processes()
        name = self._dice.choice(sorted(set(processes) - set(RAY)))
        await self._gone(processes[name])

    async def _ray(self) -> None:
        processes = await self._processes()
        await self._gone(processes[self._dice.choice(RAY)])

    async def _processes(self) -> dict[str, int]:
        """Every process of the agent, once all of them live."""
        found: dict[str, int] = {}

        def complete() -> bool:
            found.clear()
            try:
                found.update(self._agent.processes())
            except (OSError, StopIteration, ValueError):
                return False
            return len(found) >= len(RAY) + 6 and all(map(alive, found.values()))

        await until(complete, BACK_S)
        return found

    async def _gone(self, pid: int) -> None:
        kill(pid)
        await until(lambda: not alive(pid), BACK_S)
        if self._dice.random() < 0.7:
            await self._processes()

    async def _containerd(self) -> None:
        self._runtime.kill9()
        self._runtime.start()

    async def _shim(self) -> None:
        """Kill the shim of one pod: its containers die with it, and are started anew."""
        running = {name: main for name, main in self.mains().items() if int(name.removeprefix("pod-")) % 4 == 0}
        if not running:
            return
        name = self._dice.choice(sorted(running))
        try:
            shim = parent_of(running[name][1])
        except OSError:
            return  # it has ended meanwhile
        if b"containerd-shim" in command_line(shim):
            self.hurt[name] += 1
            kill(shim)


@pytest.mark.timeout(600 + 15 * KILLS)
async def test_no_kill_restarts_a_healthy_pods_container(
    agent: Agent, runtime: Containerd, figure: Callable[[str], None]
) -> None:
    for number in range(PODS):
        agent.put(f"pod-{number}", manifest(number))
    every = {f"pod-{number}" for number in range(PODS)}
    node = Node(agent, runtime, Random(SEED))
    await until(lambda: set(node.mains()) == every, SETTLE_S)
    before, began = node.mains(), time.monotonic()
    for _ in range(KILLS):
        await node.kill_one()
    took_s = time.monotonic() - began
    await until(lambda: set(node.mains()) == every, SETTLE_S)
    await until(lambda: agent.states() == dict.fromkeys(every, "Running"), SETTLE_S)
    after = node.mains()
    healthy = every - set(node.hurt)
    assert {name: after[name] for name in healthy} == {name: before[name] for name in healthy}
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(node.done.items()))
    figure(f"{KILLS} kills ({kinds}) over {PODS} pods in {took_s:.0f} s: {len(healthy)} healthy pods untouched")
    rows = {row["name"].removesuffix("-test"): row for row in agent.get("/v1/pods")["items"]}
    assert all(_restarts(rows[name]) <= node.hurt[name] for name in every)
    for path in agent.manifests.iterdir():
        path.unlink()
    await until(lambda: not runtime.ctr("containers", "ls", "-q").split(), SETTLE_S)


def _restarts(row: dict[str, dict[str, list[dict[str, int]]]]) -> int:
    return sum(each["restartCount"] for each in row["status"]["containerStatuses"])
