"""The served runtime through a real gRPC client over its socket."""

import asyncio
from pathlib import Path
from typing import Any

import grpc
import pytest
from cri_api.v1 import api_pb2 as api
from tests.hollow.conftest import IMAGE, Served, container_config, marks, pod_config


async def _code(call: Any) -> tuple[str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code().name, caught.value.details() or ""


def _by_sandbox(sandbox_id: str) -> api.PodSandboxStatusRequest:
    return api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id)


async def test_it_says_what_it_is(served: Served) -> None:
    version = await served.runtime.Version(api.VersionRequest())
    status = await served.runtime.Status(api.StatusRequest())
    config = await served.runtime.RuntimeConfig(api.RuntimeConfigRequest())
    assert (version.runtime_name, version.runtime_api_version) == ("hollow", "v1")
    assert {one.type: one.status for one in status.status.conditions} == {"RuntimeReady": True, "NetworkReady": True}
    assert "runc" in {handler.name for handler in status.runtime_handlers}
    assert status.features.supplemental_groups_policy
    assert config.linux.cgroup_driver == api.CGROUPFS


async def test_a_pod_lives_and_goes(served: Served) -> None:
    sandbox_id, container_id = await served.running()
    assert (await served.status(container_id)).state == api.CONTAINER_RUNNING
    await served.runtime.StopContainer(api.StopContainerRequest(container_id=container_id, timeout=30))
    assert (await served.status(container_id)).exit_code == 143
    await served.runtime.StopPodSandbox(api.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
    status = (await served.runtime.PodSandboxStatus(_by_sandbox(sandbox_id))).status
    assert status.state == api.SANDBOX_NOTREADY
    await served.runtime.RemovePodSandbox(api.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))
    assert not (await served.runtime.ListPodSandbox(api.ListPodSandboxRequest())).items
    assert not (await served.runtime.ListContainers(api.ListContainersRequest())).containers


async def test_lists_with_and_without_a_filter(served: Served) -> None:
    sandbox_id, container_id = await served.running()
    other_id, _ = await served.running(pod_config("db", labels={"app": "db"}))
    both = await served.runtime.ListPodSandbox(api.ListPodSandboxRequest(filter=api.PodSandboxFilter()))
    assert {one.id for one in both.items} == {sandbox_id, other_id}
    by_label = api.ListPodSandboxRequest(filter=api.PodSandboxFilter(label_selector={"app": "db"}))
    assert [one.id for one in (await served.runtime.ListPodSandbox(by_label)).items] == [other_id]
    inside = api.ListContainersRequest(filter=api.ContainerFilter(pod_sandbox_id=sandbox_id))
    assert [one.id for one in (await served.runtime.ListContainers(inside)).containers] == [container_id]


async def test_unknown_ids_get_the_codes_of_containerd(served: Served) -> None:
    gone = "0" * 64
    runtime = served.runtime
    for call in (
        runtime.PodSandboxStatus(_by_sandbox(gone)),
        runtime.ContainerStatus(api.ContainerStatusRequest(container_id=gone)),
        runtime.StartContainer(api.StartContainerRequest(container_id=gone)),
        runtime.ExecSync(api.ExecSyncRequest(container_id=gone)),
        runtime.UpdateContainerResources(api.UpdateContainerResourcesRequest(container_id=gone)),
        runtime.ReopenContainerLog(api.ReopenContainerLogRequest(container_id=gone)),
        runtime.ContainerStats(api.ContainerStatsRequest(container_id=gone)),
        runtime.PodSandboxStats(api.PodSandboxStatsRequest(pod_sandbox_id=gone)),
    ):
        assert (await _code(call))[0] == "NOT_FOUND"
    await runtime.StopPodSandbox(api.StopPodSandboxRequest(pod_sandbox_id=gone))
    await runtime.RemovePodSandbox(api.RemovePodSandboxRequest(pod_sandbox_id=gone))
    await runtime.StopContainer(api.StopContainerRequest(container_id=gone))
    await runtime.RemoveContainer(api.RemoveContainerRequest(container_id=gone))


async def test_a_short_id_and_a_verbose_status(served: Served) -> None:
    sandbox_id, container_id = await served.running()
    request = api.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id[:12], verbose=True)
    reply = await served.runtime.PodSandboxStatus(request)
    assert reply.status.id == sandbox_id
    assert "runtimeType" in reply.info["info"]
    verbose = api.ContainerStatusRequest(container_id=container_id, verbose=True)
    info = (await served.runtime.ContainerStatus(verbose)).info["info"]
    assert sandbox_id in info


@pytest.mark.parametrize("method", ["PortForward", "CheckpointContainer"])
async def test_what_needs_a_process_is_unimplemented(served: Served, method: str) -> None:
    request = getattr(api, f"{method}Request")()
    code, text = await _code(getattr(served.runtime, method)(request))
    assert code == "UNIMPLEMENTED"
    assert "only records" in text


async def test_exec_is_scripted_and_its_timeout_is_a_deadline(served: Served) -> None:
    _, quiet = await served.running(pod_config("quiet"))
    said = pod_config("said", annotations=marks(exec_stdout="hello", exec_exit_code="3"))
    _, loud = await served.running(said)
    _, slow = await served.running(pod_config("slow", annotations=marks(exec_delay="5")))
    reply = await served.runtime.ExecSync(api.ExecSyncRequest(container_id=quiet, cmd=["true"]))
    assert (reply.exit_code, reply.stdout) == (0, b"")
    reply = await served.runtime.ExecSync(api.ExecSyncRequest(container_id=loud, cmd=["say"]))
    assert (reply.exit_code, reply.stdout) == (3, b"hello")
    code, text = await _code(served.runtime.ExecSync(api.ExecSyncRequest(container_id=slow, cmd=["x"], timeout=1)))
    assert (code, "timeout 1s exceeded" in text) == ("DEADLINE_EXCEEDED", True)
    await served.runtime.StopContainer(api.StopContainerRequest(container_id=quiet, timeout=1))
    code, text = await _code(served.runtime.ExecSync(api.ExecSyncRequest(container_id=quiet, cmd=["true"])))
    assert (code, "CONTAINER_EXITED" in text) == ("UNKNOWN", True)


async def test_errors_and_delays_by_annotation(served: Served) -> None:
    sick = pod_config("sick", annotations=marks(sandbox_error="no address left", error_code="UNAVAILABLE"))
    code, text = await _code(served.runtime.RunPodSandbox(api.RunPodSandboxRequest(config=sick)))
    assert (code, text.endswith("no address left")) == ("UNAVAILABLE", True)
    pod = pod_config("p", annotations=marks(create_error="bad mount", sandbox_delay="0.01"))
    sandbox_id = await served.sandbox(pod)
    request = api.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=container_config(), sandbox_config=pod)
    assert await _code(served.runtime.CreateContainer(request)) == ("UNKNOWN", "bad mount")
    assert await _code(served.runtime.CreateContainer(request)) == ("UNKNOWN", "bad mount")
    broken = pod_config("broken", annotations=marks(start_error="no such file", start_delay="0.01"))
    container_id = await served.container(await served.sandbox(broken), pod=broken)
    assert (await _code(served.start(container_id)))[0] == "UNKNOWN"
    status = await served.status(container_id)
    assert (status.reason, status.exit_code) == ("StartError", 128)
    wrong = pod_config("wrong", annotations={"hollow.podherd.io/exits.app": "many"})
    code, text = await _code(served.running(wrong))
    assert (code, "exits: 'many'" in text) == ("INVALID_ARGUMENT", True)


async def test_a_sandbox_call_that_is_given_up_leaves_nothing(served: Served) -> None:
    pod = pod_config("slow", annotations=marks(sandbox_delay="600"))
    call = served.runtime.RunPodSandbox(api.RunPodSandboxRequest(config=pod))
    await served.stat("waiting", {"RunPodSandbox": 1})
    _, text = await _code(served.runtime.RunPodSandbox(api.RunPodSandboxRequest(config=pod)))
    assert "failed to reserve sandbox name" in text
    call.cancel()
    await served.stat("waiting", {})
    await served.sandbox(pod_config("slow"))


async def test_stop_waits_for_the_exit_and_a_given_up_stop_kills_nobody(served: Served) -> None:
    _, container_id = await served.running(pod_config("stubborn", annotations=marks(stop="ignore-term")))
    await served.runtime.StopContainer(api.StopContainerRequest(container_id=container_id, timeout=1))
    assert (await served.status(container_id)).exit_code == 137
    pod = pod_config("other", annotations=marks(stop="ignore-term"))
    _, other_id = await served.running(pod)
    request = api.StopContainerRequest(container_id=other_id, timeout=1)
    assert (await _code(served.runtime.StopContainer(request, timeout=0.2)))[0] == "DEADLINE_EXCEEDED"
    await served.stat("waiting", {})
    assert (await served.status(other_id)).state == api.CONTAINER_RUNNING


async def test_a_hanging_inspect_holds_its_own_pod_only(served: Served) -> None:
    hung_id = await served.sandbox(pod_config("hung", annotations=marks(inspect_hang="120")))
    well_id = await served.sandbox(pod_config("well"))
    hanging = served.runtime.PodSandboxStatus(_by_sandbox(hung_id), timeout=0.2)
    assert (await served.runtime.PodSandboxStatus(_by_sandbox(well_id), timeout=5)).status.id == well_id
    assert (await _code(hanging))[0] == "DEADLINE_EXCEEDED"


async def test_images_come_and_go(served: Served) -> None:
    spec = api.ImageSpec(image="registry.local/new:1")
    assert not (await served.images.ImageStatus(api.ImageStatusRequest(image=spec))).HasField("image")
    pulled = await served.images.PullImage(api.PullImageRequest(image=spec))
    status = (await served.images.ImageStatus(api.ImageStatusRequest(image=spec))).image
    assert (status.id, list(status.repo_tags)) == (pulled.image_ref, ["registry.local/new:1"])
    listed = await served.images.ListImages(api.ListImagesRequest())
    assert {one.repo_tags[0] for one in listed.images} == {IMAGE, "registry.local/new:1"}
    one = api.ListImagesRequest(filter=api.ImageFilter(image=spec))
    assert [image.id for image in (await served.images.ListImages(one)).images] == [pulled.image_ref]
    usage = await served.images.ImageFsInfo(api.ImageFsInfoRequest())
    assert usage.image_filesystems[0].used_bytes.value == 8_000_000
    await served.images.RemoveImage(api.RemoveImageRequest(image=spec))
    await served.images.RemoveImage(api.RemoveImageRequest(image=spec))
    assert not (await served.images.ImageStatus(api.ImageStatusRequest(image=spec))).HasField("image")


async def test_a_pull_fails_by_the_pods_annotation_or_by_a_rule_on_the_image(served: Served) -> None:
    spec = api.ImageSpec(image="registry.local/new:1")
    pod = pod_config(annotations=marks(pull_error="unauthorized", error_code="PERMISSION_DENIED"))
    code, text = await _code(served.images.PullImage(api.PullImageRequest(image=spec, sandbox_config=pod)))
    assert (code, text.endswith("unauthorized")) == ("PERMISSION_DENIED", True)
    await served.control.script(rules=[{"match": {"image": "*/new:*"}, "actions": {"pull-error": "no route"}}])
    assert (await _code(served.images.PullImage(api.PullImageRequest(image=spec))))[1].endswith("no route")
    bad = api.PullImageRequest(image=api.ImageSpec(image="No Reference"))
    assert "invalid reference format" in (await _code(served.images.PullImage(bad)))[1]


async def test_logs_are_written_where_they_are_scripted_only(served: Served, tmp_path: Path) -> None:
    pod = pod_config(
        log_directory=str(tmp_path), annotations={"hollow.podherd.io/log-lines.app": "2", **marks(log="b")}
    )
    pod.annotations["hollow.podherd.io/log.silent"] = ""
    sandbox_id = await served.sandbox(pod)
    for name in ("app", "silent"):
        config = container_config(name, log_path=f"{name}/0.log")
        await served.start(await served.container(sandbox_id, config, pod))
    lines = (tmp_path / "app" / "0.log").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == ["stdout F line 1", "stdout F line 2", "stdout F b"]
    assert all(line[10] == "T" and line.split(" ")[0].endswith("Z") for line in lines)
    assert not (tmp_path / "silent").exists()


async def test_reopen_makes_the_log_again_while_it_runs(served: Served, tmp_path: Path) -> None:
    pod = pod_config(log_directory=str(tmp_path), annotations=marks(log="a"))
    sandbox_id = await served.sandbox(pod)
    container_id = await served.container(sandbox_id, container_config(log_path="app.log"), pod)
    await served.start(container_id)
    (tmp_path / "app.log").rename(tmp_path / "app.log.1")
    await served.runtime.ReopenContainerLog(api.ReopenContainerLogRequest(container_id=container_id))
    assert (tmp_path / "app.log").read_text() == ""
    await served.runtime.StopContainer(api.StopContainerRequest(container_id=container_id, timeout=1))
    again = served.runtime.ReopenContainerLog(api.ReopenContainerLogRequest(container_id=container_id))
    assert await _code(again) == ("UNKNOWN", "container is not running")


async def test_a_log_that_cannot_be_written_fails_the_start(served: Served, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    pod = pod_config(log_directory=str(tmp_path / "file"), annotations=marks(log="a"))
    container_id = await served.container(await served.sandbox(pod), container_config(log_path="app.log"), pod)
    assert "failed to create container loggers" in (await _code(served.start(container_id)))[1]
    assert (await served.status(container_id)).reason == "StartError"


async def test_stats_of_what_runs(served: Served) -> None:
    sandbox_id, container_id = await served.running()
    idle_id = await served.container(sandbox_id, container_config("idle"))
    listed = await served.runtime.ListContainerStats(api.ListContainerStatsRequest())
    assert [one.attributes.id for one in listed.stats] == [container_id]
    one = (await served.runtime.ContainerStats(api.ContainerStatsRequest(container_id=container_id))).stats
    assert one.attributes.labels["io.kubernetes.container.name"] == "app"
    assert one.memory.working_set_bytes.value > 0
    assert (await _code(served.runtime.ContainerStats(api.ContainerStatsRequest(container_id=idle_id))))[0] == "UNKNOWN"
    pods = await served.runtime.ListPodSandboxStats(api.ListPodSandboxStatsRequest())
    assert [pod.attributes.id for pod in pods.stats] == [sandbox_id]
    pod = (await served.runtime.PodSandboxStats(api.PodSandboxStatsRequest(pod_sandbox_id=sandbox_id))).stats
    assert [inside.attributes.id for inside in pod.linux.containers] == [container_id]


async def test_events_tell_what_happens_with_the_pods_status(served: Served) -> None:
    stream = served.runtime.GetContainerEvents(api.GetEventsRequest())
    await served.stat("subscribers", 1)
    sandbox_id, container_id = await served.running()
    await served.control.kill(container_id=container_id, exit_code=9)
    async with asyncio.timeout(10):
        got = [await stream.read() for _ in range(5)]
    assert [(event.container_event_type, event.container_id) for event in got] == [
        (api.CONTAINER_CREATED_EVENT, sandbox_id),
        (api.CONTAINER_STARTED_EVENT, sandbox_id),
        (api.CONTAINER_CREATED_EVENT, container_id),
        (api.CONTAINER_STARTED_EVENT, container_id),
        (api.CONTAINER_STOPPED_EVENT, container_id),
    ]
    assert got[-1].pod_sandbox_status.id == sandbox_id
    assert [one.exit_code for one in got[-1].containers_statuses] == [9]
    stream.cancel()


async def test_events_off_end_open_streams_and_refuse_new_ones(served: Served) -> None:
    stream = served.runtime.GetContainerEvents(api.GetEventsRequest())
    await served.stat("subscribers", 1)
    await served.control.events(False)
    assert (await _code(stream.read()))[0] == "UNAVAILABLE"
    assert (await _code(served.runtime.GetContainerEvents(api.GetEventsRequest()).read()))[0] == "UNIMPLEMENTED"


async def test_a_subscriber_that_does_not_read_loses_its_own_events_only(served: Served) -> None:
    subscriber = served.server.events.subscribe()
    sandbox_id, _ = await served.running()
    sandbox = served.server.runtime.sandboxes.get(sandbox_id)
    for _ in range(1200):
        served.server.events.tell(1, sandbox_id, sandbox)
    assert (len(subscriber.waiting), subscriber.lost) == (1000, 204)
    assert (await served.control.stats())["events_lost"] == 204


async def test_a_method_that_no_service_has_is_unimplemented(served: Served) -> None:
    unknown = served.channel.unary_unary("/runtime.v1.RuntimeService/Juggle")
    assert (await _code(unknown(b"")))[0] == "UNIMPLEMENTED"


async def test_bytes_that_are_no_request_are_internal(served: Served) -> None:
    create = served.channel.unary_unary("/runtime.v1.RuntimeService/CreateContainer")
    assert (await _code(create(b"\x0a\xff")))[0] == "INTERNAL"
