"""Publicly reported faults, whole: an agent in its own processes, the right outcome read from the runtime's journal."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.agent import Agent, own_agent, running
from tests.kit.hollow import Hollow, own_hollow
from tests.kit.waiting import until

from podherd.cri.client import Cri
from podherd.hollow.control import Control
from podherd.model import keys

WAIT_S = 60.0


def pod(name: str, image: str, namespace: str = "default") -> str:
    """A small manifest."""
    return f"""apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{{name: main, image: "{image}"}}]
"""


async def deeds(control: Control, method: str) -> list[str]:
    """The pod of every call of this method so far, in order."""
    return [f"{row['namespace']}/{row['pod']}" for row in await control.journal() if row["method"] == method]


@pytest.fixture
def hollow() -> Iterator[Hollow]:
    """A hollow runtime of the test's own."""
    with own_hollow() as runtime:
        yield runtime


async def test_src_1_a_backup_beside_a_manifest_changes_nothing_and_is_named_once(
    hollow: Hollow, tmp_path: Path
) -> None:
    agent = Agent(tmp_path, hollow.endpoint)
    agent.put("relay", pod("relay", "reg.test/relay:2"))
    agent.put("other", pod("other", "reg.test/other:1"))
    (agent.manifests / "relay.yaml.bak").write_text(pod("relay", "reg.test/relay:1"))
    (agent.manifests / ".relay.yaml.swp").write_bytes(random.Random(1).randbytes(64))
    (agent.manifests / "notes.txt").write_text("todo: rotate keys\n")
    (agent.manifests / "old").mkdir()
    (agent.manifests / "old" / "relay.yaml").write_text(pod("relay", "reg.test/relay:0"))
    async with Control(hollow.endpoint) as control:
        for _run in range(2):
            async with running(agent):
                await until(lambda: agent.states() == {"relay": "Running", "other": "Running"}, WAIT_S)
                problems = {Path(row["thing"]).name: row["problem"] for row in agent.get("/v1/problems")["items"]}
                assert set(problems) == {"notes.txt", "relay.yaml.bak"}
                assert "relay.yaml, which is used" in problems["relay.yaml.bak"]
        assert sorted(await deeds(control, "CreateContainer")) == ["default/other-test", "default/relay-test"]
        assert await deeds(control, "StopContainer") == []
        images = [row["image"] for row in await control.journal() if row["method"] == "CreateContainer"]
    assert sorted(images) == ["reg.test/other:1", "reg.test/relay:2"]


async def leave_behind(endpoint: str, name: str, namespace: str, uid: str, source: str) -> str:
    """A running pod that an earlier agent made; its container's id."""
    cri = Cri(endpoint)
    labels = {keys.POD_NAME: name, keys.POD_NAMESPACE: namespace, keys.POD_UID: uid}
    sandbox = pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(name=name, namespace=namespace, uid=uid),
        labels=labels,
        annotations={keys.CONFIG_SOURCE: source},
    )
    container = pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name="main"),
        image=pb.ImageSpec(image="reg.test/edge:1"),
        labels=labels | {keys.CONTAINER_NAME: "main"},
        annotations={keys.POD_TERMINATION_GRACE_PERIOD: "1"},
    )
    try:
        await cri.pull_image("reg.test/edge:1")
        sandbox_id = await cri.run_sandbox(sandbox)
        container_id = await cri.create_container(sandbox_id, container, sandbox)
        await cri.start_container(container_id)
    finally:
        await cri.close()
    return container_id


async def test_src_3_an_edition_from_before_the_agent_started_stops_before_the_new_one_starts(
    hollow: Hollow, tmp_path: Path
) -> None:
    old = await leave_behind(hollow.endpoint, "edge-test", "infra", "u-old", keys.SOURCE_FILE)
    agent = Agent(tmp_path, hollow.endpoint)
    agent.put("edge", pod("edge", "reg.test/edge:2", "infra"))
    async with Control(hollow.endpoint) as control, running(agent):
        await until(lambda: agent.states() == {"edge": "Running"}, WAIT_S)
        journal = await control.journal()
        stop = next(
            i for i, row in enumerate(journal) if row["method"] == "StopContainer" and row["container_id"] == old
        )
        creates = [i for i, row in enumerate(journal) if row["method"] == "CreateContainer"]
        assert len(creates) == 2
        assert creates[0] < stop < creates[1]
        assert (await control.stats())["doubled"] == []
        (agent.manifests / "edge.yaml").unlink()
        await until(lambda: agent.states() == {}, WAIT_S)
        assert await deeds(control, "RemovePodSandbox") == ["infra/edge-test"] * 2


async def test_src_3_without_an_api_source_a_pod_of_no_manifest_is_ended(hollow: Hollow, tmp_path: Path) -> None:
    """The file source alone counts as all sources; a source that was never configured is not waited for."""
    await leave_behind(hollow.endpoint, "api7", "infra", "u-api", keys.SOURCE_API)
    async with Control(hollow.endpoint) as control, own_agent(tmp_path, hollow.endpoint):

        async def removed() -> Any:
            return await deeds(control, "RemovePodSandbox") == ["infra/api7"]

        await until(removed, WAIT_S)
