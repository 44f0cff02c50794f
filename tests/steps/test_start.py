"""A new pod from directories to running containers."""

import os
import stat
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.errors import ContainerConfigError, CriError
from podherd.machines.pod.events import SandboxFailed, Started, StartFailed, StepFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.steps import sandbox
from podherd.steps.runner import perform

START = Plan(make_sandbox=0, start=(StartContainer("web", 0),))


def error(code: str = "UNKNOWN", reason: str = "no luck") -> CriError:
    return CriError("CRI x", code, reason)


def mode_of(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


async def test_a_pod_is_started_with_five_calls(bench: Any, make_pod: Any) -> None:
    synced = await perform(bench.context(START, make_pod(), plan_id=7))
    assert bench.cri.methods() == [
        "run_sandbox",
        "sandbox_status",
        "image_status",
        "create_container",
        "start_container",
    ]
    assert synced.results == (Started("web", "web-0", 0),)
    assert (synced.uid, synced.plan_id, synced.did, synced.cancelled) == ("u1", 7, True, False)
    assert bench.told() == [
        (
            "Normal",
            "Pulled",
            'Container image "reg.test/web:1" already present on machine and can be accessed by the pod',
        ),
        ("Normal", "Created", "Container created"),
        ("Normal", "Started", "Container started"),
    ]
    assert {event.field_path for event in bench.events} == {"spec.containers{web}"}


async def test_an_empty_plan_does_nothing_and_needs_no_spec(bench: Any) -> None:
    synced = await perform(bench.context(Plan()))
    assert (bench.cri.calls, synced.results, synced.did) == ([], (), False)
    assert not bench.settings.root_dir.exists()


async def test_directories_and_files_of_a_pod(bench: Any, make_pod: Any) -> None:
    old = os.umask(0o027)
    try:
        await perform(bench.context(START, make_pod()))
    finally:
        os.umask(old)
    pod_dir = str(bench.settings.pod_dir("u1"))
    assert mode_of(pod_dir) == 0o750
    assert mode_of(f"{pod_dir}/containers/web/00000000") == 0o666
    log_dir = bench.settings.pod_log_dir("shop", "web", "u1")
    assert (log_dir / "web").is_dir()
    link = bench.settings.pod_logs_dir.parent / "containers" / "web_shop_web-web-0.log"
    assert os.readlink(link) == str(log_dir / "web" / "0.log")


async def test_the_container_gets_hosts_file_and_termination_log(bench: Any, make_pod: Any) -> None:
    bench.cri.ips = ("10.8.0.2", "fd00::2")
    await perform(bench.context(START, make_pod({"hostAliases": [{"ip": "10.1.1.1", "hostnames": ["a", "b"]}]})))
    config: pb.ContainerConfig = next(call[2] for call in bench.cri.calls if call[0] == "create_container")
    by_path = {mount.container_path: mount.host_path for mount in config.mounts}
    pod_dir = str(bench.settings.pod_dir("u1"))
    assert by_path == {
        "/etc/hosts": f"{pod_dir}/etc-hosts",
        "/dev/termination-log": f"{pod_dir}/containers/web/00000000",
    }
    text = (bench.settings.pod_dir("u1") / "etc-hosts").read_text()
    assert text.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    assert text.endswith("10.8.0.2\tweb\nfd00::2\tweb\n\n# Entries added by HostAliases.\n10.1.1.1\ta\tb\n")


async def test_a_container_that_mounts_its_own_hosts_file_keeps_it(bench: Any, make_pod: Any) -> None:
    spec = {"volumes": [{"name": "h", "hostPath": {"path": "/etc/hosts", "type": ""}}]}
    mounts = [{"name": "h", "mountPath": "/etc/hosts", "readOnly": True}]
    await perform(bench.context(START, make_pod(spec, {"name": "web", "volumeMounts": mounts})))
    config = next(call[2] for call in bench.cri.calls if call[0] == "create_container")
    mount = next(mount for mount in config.mounts if mount.container_path == "/etc/hosts")
    assert (mount.host_path, mount.readonly) == ("/etc/hosts", True)
    assert not (bench.settings.pod_dir("u1") / "etc-hosts").exists()


async def test_a_pod_on_the_hosts_network_gets_the_nodes_hosts_file_and_no_inspection(
    bench: Any, make_pod: Any
) -> None:
    await perform(bench.context(START, make_pod({"hostNetwork": True})))
    assert "sandbox_status" not in bench.cri.methods()
    text = (bench.settings.pod_dir("u1") / "etc-hosts").read_text()
    assert text.startswith("# Kubernetes-managed hosts file (host network).\n")


async def test_a_restart_asks_the_sandbox_that_stands_for_its_address(bench: Any, make_pod: Any) -> None:
    plan = Plan(sandbox_id="s3", start=(StartContainer("web", 4),))
    synced = await perform(bench.context(plan, make_pod()))
    assert bench.cri.methods()[0] == "sandbox_status"
    create = next(call for call in bench.cri.calls if call[0] == "create_container")
    assert (create[1], create[3].metadata.attempt) == ("s3", 3)
    assert synced.results == (Started("web", "web-4", 4),)


async def test_log_files_of_a_wiped_runtime_raise_the_attempt_and_stay_as_they_are(bench: Any, make_pod: Any) -> None:
    """Case STATE-3."""
    log_dir = bench.settings.pod_log_dir("shop", "web", "u1") / "web"
    log_dir.mkdir(parents=True)
    names = ["0.log", "1.log", "7.log", "7.log.20260101-000000.gz", "junk.txt"]
    for name in names:
        (log_dir / name).write_text(f"kept {name}")
    synced = await perform(bench.context(START, make_pod()))
    config = next(call[2] for call in bench.cri.calls if call[0] == "create_container")
    assert synced.results == (Started("web", "web-8", 8),)
    assert (config.metadata.attempt, config.log_path) == (8, "web/8.log")
    assert config.annotations["io.kubernetes.container.restartCount"] == "8"
    assert {path.name: path.read_text() for path in log_dir.iterdir()} == {name: f"kept {name}" for name in names}


async def test_a_sandbox_failure_ends_the_sync(bench: Any, make_pod: Any) -> None:
    bench.cri.fail["run_sandbox"] = error(reason="cni is gone")
    synced = await perform(bench.context(START, make_pod()))
    assert bench.cri.methods() == ["run_sandbox"]
    assert (synced.results, synced.did) == ((SandboxFailed("cni is gone"),), True)
    assert bench.told() == [
        (
            "Warning",
            "FailedCreatePodSandBox",
            "Failed to create pod sandbox: rpc error: code = Unknown desc = cni is gone",
        )
    ]


async def test_a_sandbox_that_cannot_be_inspected_ends_the_sync(bench: Any, make_pod: Any) -> None:
    bench.cri.fail["sandbox_status"] = error(reason="gone")
    synced = await perform(bench.context(START, make_pod()))
    assert synced.results == (SandboxFailed("gone"),)
    assert bench.told() == [
        ("Warning", "FailedPodSandBoxStatus", "Unable to get pod sandbox status: rpc error: code = Unknown desc = gone")
    ]


async def test_one_containers_failure_does_not_stop_the_others(bench: Any, make_pod: Any) -> None:
    pod = make_pod({}, {"name": "a", "image": "reg.test/none:1", "imagePullPolicy": "Never"}, {"name": "b"})
    plan = Plan(make_sandbox=0, start=(StartContainer("a", 0), StartContainer("b", 0)))
    synced = await perform(bench.context(plan, pod))
    first, second = synced.results
    assert isinstance(first, StartFailed)
    assert (first.name, first.reason) == ("a", "ErrImageNeverPull")
    assert second == Started("b", "b-0", 0)


@pytest.mark.parametrize("fields", [{}, {"restartPolicy": "Always"}])
async def test_a_failed_init_container_or_sidecar_stops_what_follows(bench: Any, make_pod: Any, fields: Any) -> None:
    pod = make_pod({"initContainers": [{"name": "fetch", "image": "BAD", **fields}]})
    plan = Plan(make_sandbox=0, start=(StartContainer("fetch", 0), StartContainer("web", 0)))
    synced = await perform(bench.context(plan, pod))
    assert [result.name for result in synced.results] == ["fetch"]
    assert bench.events[0].field_path == "spec.initContainers{fetch}"


async def test_a_failed_ephemeral_container_stops_nothing(bench: Any, make_pod: Any) -> None:
    pod = make_pod({"ephemeralContainers": [{"name": "debug", "image": "BAD"}]})
    plan = Plan(sandbox_id="s0", start=(StartContainer("debug", 0), StartContainer("web", 0)))
    synced = await perform(bench.context(plan, pod))
    assert [type(result) for result in synced.results] == [StartFailed, Started]
    assert bench.events[0].field_path == "spec.ephemeralContainers{debug}"


async def test_an_ephemeral_container_joins_the_processes_of_its_target(bench: Any, make_pod: Any) -> None:
    pod = make_pod({"ephemeralContainers": [{"name": "debug", "targetContainerName": "web"}]})
    plan = Plan(sandbox_id="s0", start=(StartContainer("debug", 0, target_id="web-0"),))
    synced = await perform(bench.context(plan, pod))
    assert synced.results == (Started("debug", "debug-0", 0),)
    options = next(call[2] for call in bench.cri.calls if call[0] == "create_container").linux.security_context
    assert (options.namespace_options.pid, options.namespace_options.target_id) == (pb.TARGET, "web-0")


async def test_create_and_start_failures_have_the_kubelets_reasons(bench: Any, make_pod: Any) -> None:
    bench.cri.fail["create_container"] = error(reason="no such mount")
    synced = await perform(bench.context(START, make_pod()))
    assert synced.results == (StartFailed("web", "CreateContainerError", "no such mount"),)
    assert bench.told()[-1] == ("Warning", "Failed", "Error: no such mount")
    bench.cri.fail = {"start_container": error(reason="exec: not found")}
    synced = await perform(bench.context(START, make_pod()))
    assert synced.results == (StartFailed("web", "RunContainerError", "exec: not found"),)
    assert bench.told()[-2:] == [
        ("Normal", "Created", "Container created"),
        ("Warning", "Failed", "Error: exec: not found"),
    ]


@pytest.mark.parametrize("image", ["reg.test/web:1", "reg.test/absent:1"])
async def test_a_sandbox_that_cannot_be_described_any_more_is_each_containers_config_error(
    bench: Any, make_pod: Any, monkeypatch: pytest.MonkeyPatch, image: str
) -> None:
    def refuse(*_args: Any, **_words: Any) -> None:
        raise ContainerConfigError("spec.x", "cannot be carried out here")

    monkeypatch.setattr(sandbox, "sandbox_config", refuse)
    start = tuple(StartContainer(name, 0) for name in ("a", "b"))
    pod = make_pod({}, *({"name": name, "image": image} for name in ("a", "b")))
    synced = await perform(bench.context(Plan(sandbox_id="s0", start=start), pod))
    text = "spec.x: cannot be carried out here"
    assert synced.results == tuple(StartFailed(name, "CreateContainerConfigError", text) for name in ("a", "b"))
    assert bench.told()[-1] == ("Warning", "Failed", f"Error: {text}")


async def test_a_spec_that_cannot_be_carried_out_is_a_config_error(bench: Any, make_pod: Any) -> None:
    mounts = [{"name": "lost", "mountPath": "/data"}]
    synced = await perform(bench.context(START, make_pod({}, {"name": "web", "volumeMounts": mounts})))
    (failed,) = synced.results
    assert (failed.reason, "create_container" in bench.cri.methods()) == ("CreateContainerConfigError", False)
    assert 'volume "lost" is not in the pod' in failed.message


async def test_a_volume_that_is_not_ready_ends_the_sync_before_the_sandbox(bench: Any, make_pod: Any) -> None:
    spec = {"volumes": [{"name": "d", "hostPath": {"path": "/no/where", "type": "Directory"}}]}
    synced = await perform(bench.context(START, make_pod(spec)))
    (failed,) = synced.results
    assert (failed.step, bench.cri.calls, synced.did) == ("volumes", [], False)
    assert bench.told() == [
        ("Warning", "FailedMount", 'MountVolume.SetUp failed for volume "d" : hostPath /no/where doesn\'t exist')
    ]


async def test_directories_that_cannot_be_made_end_the_sync(bench: Any, make_pod: Any) -> None:
    bench.settings.root_dir.write_text("a file")
    synced = await perform(bench.context(START, make_pod()))
    (failed,) = synced.results
    assert (failed.step, bench.cri.calls) == ("dirs", [])
    assert bench.reasons() == ["FailedToMakePodDataDirectories"]


async def test_a_pod_whose_log_directory_would_have_too_long_a_name_is_told_so(bench: Any, make_pod: Any) -> None:
    (failed,) = (await perform(bench.context(START, make_pod(name="n" * 253)))).results
    assert (failed.step, bench.cri.calls) == ("dirs", [])
    ((kind, reason, message),) = bench.told()
    assert (kind, reason) == ("Warning", "FailedCreatePodSandBox")
    assert message.startswith("Failed to create pod sandbox: mkdir /")
    assert message.endswith(": file name too long")


async def test_a_sandbox_is_stopped_before_its_successor_is_made(bench: Any, make_pod: Any) -> None:
    plan = Plan(stop_sandboxes=("s0",), make_sandbox=1, start=(StartContainer("web", 1),))
    await perform(bench.context(plan, make_pod()))
    assert bench.cri.methods()[:2] == ["stop_sandbox", "run_sandbox"]


async def test_the_pods_cgroup_is_the_sandboxs_parent(bench: Any, make_pod: Any) -> None:
    bench.tools.cgroup_driver = "systemd"
    await perform(bench.context(START, make_pod()))
    config = bench.cri.calls[0][1]
    assert config.linux.cgroup_parent.endswith("-kubepods-besteffort-podu1.slice")


async def test_a_fault_of_ours_is_reported_and_not_raised(bench: Any, make_pod: Any) -> None:
    plan = Plan(make_sandbox=0, start=(StartContainer("unknown", 0),))
    synced = await perform(bench.context(plan, make_pod()))
    (failed,) = synced.results
    assert isinstance(failed, StepFailed)
    assert failed.step == "containers"
    assert [step for step, _ in bench.faults] == ["containers"]


async def test_what_will_not_be_as_the_spec_says_is_told_when_the_sandbox_is_made(bench: Any, make_pod: Any) -> None:
    pod = make_pod({"dnsPolicy": "ClusterFirst"})
    await perform(bench.context(START, pod))
    assert bench.reasons() == ["MissingClusterDNS", "Pulled", "Created", "Started"]
    await perform(bench.context(Plan(sandbox_id="s0", start=(StartContainer("web", 1),)), pod))
    assert bench.reasons()[4:] == ["Pulled", "Created", "Started"]
