"""The control service through its client."""

import asyncio

import grpc
import pytest
from cri_api.v1 import api_pb2 as api
from tests.hollow.conftest import Served, container_config, pod_config

from podherd.errors import CriError


async def test_kill_by_pod_and_name(served: Served) -> None:
    _, container_id = await served.running()
    assert await served.control.kill(pod="default/web", container="app", exit_code=3, reason="Bad") == container_id
    status = await served.status(container_id)
    assert (status.exit_code, status.reason) == (3, "Bad")


async def test_kill_takes_the_running_one_of_several_attempts(served: Served) -> None:
    sandbox_id, first_id = await served.running()
    await served.control.kill(container_id=first_id)
    second_id = await served.container(sandbox_id, container_config(attempt=1))
    await served.start(second_id)
    await served.container(sandbox_id, container_config(attempt=2))
    assert await served.control.kill(pod="web", container="app") == second_id


@pytest.mark.parametrize(
    ("method", "fields", "code"),
    [
        ("Kill", {"pod": "none", "container": "x"}, "NOT_FOUND"),
        ("Kill", {"container_id": "none"}, "NOT_FOUND"),
        ("Kill", {"speed": 1}, "INVALID_ARGUMENT"),
        ("Sandbox", {"pod": "none"}, "NOT_FOUND"),
        ("Fault", {"code": "TEAPOT"}, "INVALID_ARGUMENT"),
        ("Script", {"rules": [{"actions": {"oops": 1}}]}, "INVALID_ARGUMENT"),
        ("Ready", {"condition": "DiskReady", "ready": False}, "INVALID_ARGUMENT"),
    ],
)
async def test_a_wrong_order_says_so(served: Served, method: str, fields: dict[str, object], code: str) -> None:
    with pytest.raises(CriError) as caught:
        await served.control.call(method, **fields)
    assert caught.value.code == code


async def test_orders_that_are_no_json_are_refused(served: Served) -> None:
    for order in (b"{", b"[]"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.channel.unary_unary("/podherd.hollow.v1.Control/Stats")(order)
        assert caught.value.code().name == "INVALID_ARGUMENT"


async def test_a_lost_sandbox_is_not_ready(served: Served) -> None:
    sandbox_id, container_id = await served.running()
    assert await served.control.lose_sandbox("default/web", kill_containers=True) == sandbox_id
    listed = await served.runtime.ListPodSandbox(api.ListPodSandboxRequest())
    assert listed.items[0].state == api.SANDBOX_NOTREADY
    assert (await served.status(container_id)).exit_code == 137


async def test_a_fault_refuses_so_many_calls_and_the_journal_has_them(served: Served) -> None:
    await served.control.fault("RunPodSandbox", pod="we*", code="UNAVAILABLE", message="busy", times=2)
    await served.sandbox(pod_config("other"))
    for _ in range(2):
        with pytest.raises(grpc.aio.AioRpcError, match="busy"):
            await served.sandbox()
    await served.sandbox()
    told = [(entry["pod"], entry["outcome"]) for entry in await served.control.journal()]
    assert told == [("other", "OK"), ("web", "UNAVAILABLE"), ("web", "UNAVAILABLE"), ("web", "OK")]
    assert (await served.control.stats())["errors"] == {"RunPodSandbox UNAVAILABLE": 2}


async def test_a_lost_reply_has_its_effect(served: Served) -> None:
    await served.control.fault("RunPodSandbox", code="UNAVAILABLE", times=1, when="after")
    with pytest.raises(grpc.aio.AioRpcError):
        await served.sandbox()
    assert len((await served.runtime.ListPodSandbox(api.ListPodSandboxRequest())).items) == 1


async def test_a_hang_lasts_until_it_is_cleared_and_is_counted(served: Served) -> None:
    fault_id = await served.control.fault("Version", hang=True)
    calls = [served.runtime.Version(api.VersionRequest()) for _ in range(3)]
    await served.stat("waiting", {"Version": 3})
    await served.runtime.Status(api.StatusRequest())
    await served.control.clear_faults(fault_id)
    assert [(await call).runtime_name for call in calls] == ["hollow"] * 3
    assert (await served.control.stats())["most_waiting"] == {"Version": 3}


async def test_a_delay_is_counted_by_pod(served: Served) -> None:
    await served.control.fault("RunPodSandbox", delay=0.05)
    await asyncio.gather(*(served.sandbox(pod_config("web", attempt=n)) for n in range(4)))
    await served.control.clear_faults()
    assert (await served.control.stats())["most_waiting_by_pod"] == {"RunPodSandbox default/web": 4}


async def test_rules_follow_the_control_at_once(served: Served) -> None:
    sandbox_id, _ = await served.running()
    status = api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)
    await served.control.script(rules=[{"match": {"pod": "web"}, "actions": {"inspect-hang": 60}}])
    with pytest.raises(grpc.aio.AioRpcError):
        await served.runtime.PodSandboxStatus(status, timeout=0.1)
    await served.control.script()
    await served.runtime.PodSandboxStatus(status, timeout=5)


async def test_wipe_and_reboot(served: Served) -> None:
    _, container_id = await served.running()
    await served.control.reboot()
    assert (await served.status(container_id)).exit_code == 255
    await served.control.wipe(images=True)
    stats = await served.control.stats()
    assert (stats["sandboxes"], stats["containers"], stats["images"]) == (0, 0, 0)


async def test_readiness_is_what_it_was_set_to(served: Served) -> None:
    await served.control.ready("NetworkReady", False, "NetworkPluginNotReady", "cni config uninitialized")
    conditions = (await served.runtime.Status(api.StatusRequest())).status.conditions
    network = next(one for one in conditions if one.type == "NetworkReady")
    assert (network.status, network.reason) == (False, "NetworkPluginNotReady")


async def test_a_restart_breaks_calls_in_flight_and_keeps_the_records(served: Served) -> None:
    sandbox_id, container_id = await served.running()
    await served.control.fault("Version", hang=True)
    hanging = served.runtime.Version(api.VersionRequest())
    await served.stat("waiting", {"Version": 1})
    await served.control.restart(0.1)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await hanging
    assert caught.value.code().name == "UNAVAILABLE"
    listed = await served.runtime.ListContainers(api.ListContainersRequest(), wait_for_ready=True, timeout=30)
    assert [(one.id, one.pod_sandbox_id) for one in listed.containers] == [(container_id, sandbox_id)]


async def test_the_journal_is_read_from_where_one_was(served: Served) -> None:
    await served.running()
    seq = (await served.control.stats())["journal_seq"]
    await served.control.kill(pod="web", container="app", exit_code=1)
    (entry,) = await served.control.journal(seq)
    assert (entry["method"], entry["container"], entry["outcome"]) == ("Exit", "app", "1")
