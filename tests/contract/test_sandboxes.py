"""Pod sandboxes: what the agent relies on, the same from every runtime."""

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.cri.client import Cri
from podherd.errors import CriError


async def test_run_sandbox_is_ready_with_an_address(cri, pods):
    sandbox_id = await pods.sandbox("ready")
    status = (await cri.sandbox_status(sandbox_id)).status
    assert status.id == sandbox_id
    assert status.state == pb.SANDBOX_READY
    assert status.network.ip.count(".") == 3
    assert status.linux.namespaces.options.network == pb.POD
    assert status.created_at > 1_600_000_000 * 10**9


async def test_sandbox_status_gives_back_what_was_written(cri, pods):
    status = (await cri.sandbox_status(await pods.sandbox("echo"))).status
    wanted = pods.config("echo")
    assert status.metadata == wanted.metadata
    assert dict(status.labels) == dict(wanted.labels)
    assert status.annotations["note"] == "kept as given"


async def test_two_sandboxes_have_two_addresses(cri, pods):
    ids = [await pods.sandbox(name) for name in ("one", "two")]
    assert len({(await cri.sandbox_status(each)).status.network.ip for each in ids}) == 2


async def test_stop_sandbox_is_idempotent_and_leaves_it_not_ready(cri, pods):
    sandbox_id = await pods.sandbox("stopped")
    await cri.stop_sandbox(sandbox_id)
    await cri.stop_sandbox(sandbox_id)
    assert (await cri.sandbox_status(sandbox_id)).status.state == pb.SANDBOX_NOTREADY


async def test_stop_sandbox_ends_its_containers(cri, pods):
    sandbox_id, container_id = await pods.running("ends")
    await cri.stop_sandbox(sandbox_id)
    assert (await cri.container_status(container_id)).state == pb.CONTAINER_EXITED


async def test_remove_sandbox_takes_its_containers_and_is_idempotent(cri, pods):
    sandbox_id, container_id = await pods.running("removed")
    await cri.stop_sandbox(sandbox_id)
    await cri.remove_sandbox(sandbox_id)
    await cri.remove_sandbox(sandbox_id)
    for asked in (cri.sandbox_status(sandbox_id), cri.container_status(container_id)):
        with pytest.raises(CriError) as error:
            await asked
        assert error.value.code == "NOT_FOUND"


async def test_the_same_name_and_attempt_twice_is_refused(pods):
    await pods.sandbox("twice")
    with pytest.raises(CriError, match="reserved"):
        await pods.sandbox("twice")


async def test_status_of_an_unknown_sandbox_is_not_found(cri):
    with pytest.raises(CriError) as error:
        await cri.sandbox_status("nowhere")
    assert error.value.code == "NOT_FOUND"


async def test_undecoded_list_holds_exactly_the_sandboxes(cri: Cri, pods):
    ids = {await pods.sandbox("listed-1"), await pods.sandbox("listed-2")}
    listed = pb.ListPodSandboxResponse.FromString(await cri.list_sandboxes_raw()).items
    assert {each.id for each in listed} == ids
    by_id = {each.id: each for each in listed}
    for sandbox_id in ids:
        status = (await cri.sandbox_status(sandbox_id)).status
        entry = by_id[sandbox_id]
        assert (entry.metadata, entry.state, entry.created_at) == (status.metadata, status.state, status.created_at)
        assert dict(entry.labels) == dict(status.labels)


async def test_lists_of_an_empty_runtime_are_empty(cri):
    assert await cri.list_sandboxes_raw() == b""
    assert await cri.list_containers_raw() == b""
