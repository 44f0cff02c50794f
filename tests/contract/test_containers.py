"""Containers: life, states, exit codes, not-found codes."""

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.contract.conftest import until_state

from podherd.errors import CriError


async def test_a_container_is_created_then_running(cri, pods):
    sandbox_id = await pods.sandbox("life")
    container_id = await pods.container(sandbox_id)
    status = await cri.container_status(container_id)
    assert (status.state, status.started_at, status.finished_at) == (pb.CONTAINER_CREATED, 0, 0)
    await cri.start_container(container_id)
    status = await cri.container_status(container_id)
    assert status.state == pb.CONTAINER_RUNNING
    assert status.started_at >= status.created_at > 0


async def test_container_status_gives_back_what_was_written(cri, pods):
    sandbox_id = await pods.sandbox("echo")
    container_id = await pods.container(sandbox_id, name="side", attempt=3)
    status = await cri.container_status(container_id)
    assert (status.metadata.name, status.metadata.attempt) == ("side", 3)
    assert status.labels["io.kubernetes.container.name"] == "side"
    assert status.annotations["io.kubernetes.container.hash"] == "abc"
    assert status.log_path == f"{pods.configs[sandbox_id].log_directory}/side/3.log"
    assert status.image.image
    assert status.image_ref


async def test_stop_lets_a_container_end_in_its_grace(cri, pods):
    _, container_id = await pods.running("grace")
    await cri.stop_container(container_id, 20)
    status = await cri.container_status(container_id)
    assert status.state == pb.CONTAINER_EXITED
    assert status.finished_at >= status.started_at > 0
    assert status.exit_code != 0


async def test_stop_is_idempotent(cri, pods):
    _, container_id = await pods.running("idem")
    await cri.stop_container(container_id, 5)
    finished = (await cri.container_status(container_id)).finished_at
    await cri.stop_container(container_id, 5)
    assert (await cri.container_status(container_id)).finished_at == finished


async def test_remove_container_is_idempotent(cri, pods):
    _, container_id = await pods.running("remove")
    await cri.stop_container(container_id, 1)
    await cri.remove_container(container_id)
    await cri.remove_container(container_id)
    with pytest.raises(CriError) as error:
        await cri.container_status(container_id)
    assert error.value.code == "NOT_FOUND"


async def test_a_second_attempt_stands_beside_the_first(cri, pods):
    sandbox_id, first = await pods.running("attempts")
    await cri.stop_container(first, 1)
    second = await pods.container(sandbox_id, attempt=1)
    await cri.start_container(second)
    assert (await cri.container_status(first)).state == pb.CONTAINER_EXITED
    assert (await until_state(cri, second, pb.CONTAINER_RUNNING)).metadata.attempt == 1


async def test_unknown_ids_are_not_found(cri, pods):
    sandbox_id = await pods.sandbox("known")
    pods.configs["nowhere"] = pods.configs[sandbox_id]
    for asked in (
        cri.container_status("nowhere"),
        cri.start_container("nowhere"),
        pods.container("nowhere"),
        cri.exec_sync("nowhere", ["true"], 5),
    ):
        with pytest.raises(CriError) as error:
            await asked
        assert error.value.code == "NOT_FOUND", error.value


async def test_a_container_of_an_absent_image_is_refused(cri, pods):
    sandbox_id = await pods.sandbox("absent")
    config = pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name="main"), image=pb.ImageSpec(image="podherd.local/absent:1")
    )
    with pytest.raises(CriError, match=r"absent:1|not found"):
        await cri.create_container(sandbox_id, config, pods.configs[sandbox_id])


async def test_undecoded_list_holds_exactly_the_containers(cri, pods):
    pairs = [await pods.running("listed-1"), await pods.running("listed-2")]
    listed = pb.ListContainersResponse.FromString(await cri.list_containers_raw()).containers
    assert {(each.pod_sandbox_id, each.id) for each in listed} == set(pairs)
    for entry in listed:
        status = await cri.container_status(entry.id)
        assert (entry.metadata, entry.state, entry.created_at) == (status.metadata, status.state, status.created_at)
        assert dict(entry.labels) == dict(status.labels)
        assert dict(entry.annotations) == dict(status.annotations)


async def test_exec_answers_with_an_exit_code(cri, pods):
    _, container_id = await pods.running("exec")
    assert (await cri.exec_sync(container_id, ["true"], 10)).exit_code == 0


async def test_the_runtime_takes_a_stop_with_grace_zero_at_once(cri, pods):
    _, container_id = await pods.running("zero")
    await cri.stop_container(container_id, 0)
    assert (await cri.container_status(container_id)).exit_code == 137  # it heeds SIGTERM: no time was given for that
