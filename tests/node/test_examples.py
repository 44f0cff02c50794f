"""The manifests that `make run` starts with, on real containerd."""

import shutil
from pathlib import Path

import pytest
from tests.kit.agent import Agent
from tests.kit.waiting import until

from podherd.agent.provision import Containerd

EXAMPLES = Path(__file__).parents[2] / "examples" / "manifests"


@pytest.mark.timeout(300)
async def test_the_examples_reach_the_states_they_are_there_to_show(agent: Agent, runtime: Containerd) -> None:
    for path in EXAMPLES.glob("*.yaml"):
        shutil.copy(path, agent.manifests)
    wanted = {"web": "Running", "shared": "Running", "job": "Completed", "crash": "CrashLoopBackOff"}
    await until(lambda: agent.states() == wanted, 120.0)
    pod = agent.get("/v1/pod?pod=shared")["pod"]
    reader = next(c for c in pod["status"]["containerStatuses"] if c["name"] == "reader")
    container_id = reader["containerID"].removeprefix("containerd://")
    assert container_id in runtime.ctr("tasks", "ls")
    for path in agent.manifests.iterdir():
        path.unlink()
    await until(lambda: not runtime.ctr("containers", "ls", "-q").split(), 120.0)
