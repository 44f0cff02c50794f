"""What of a volume a container mounts, and how."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.volumes import mounts_below, unmounted_after

from podherd.errors import CriError
from podherd.machines.pod.events import Started, StartFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.steps.runner import perform
from podherd.steps.runtime_features import lacks_images
from podherd.volumes.propagation import is_shared

START = Plan(make_sandbox=0, start=(StartContainer("web", 0),))
DATA = {"volumes": [{"name": "data", "emptyDir": {}}]}
IMAGE = "reg.test/data:1"


@pytest.fixture(autouse=True)
def _unmounted(tmp_path: Path) -> Iterator[None]:
    with unmounted_after(tmp_path):
        yield


@pytest.fixture(autouse=True)
def runtime(bench: Any) -> dict[str, Any]:
    """What the runtime says of itself; a test may change it."""
    facts = {"name": "containerd", "version": "v2.2.0", "handlers": {"": True}}

    async def version() -> pb.VersionResponse:
        return pb.VersionResponse(runtime_name=facts["name"], runtime_version=facts["version"])

    async def status() -> pb.StatusResponse:
        handlers = [
            pb.RuntimeHandler(name=name, features=pb.RuntimeHandlerFeatures(recursive_read_only_mounts=able))
            for name, able in facts["handlers"].items()  # type: ignore[attr-defined]
        ]
        return pb.StatusResponse(runtime_handlers=handlers)

    bench.cri.version, bench.cri.status = version, status
    return facts


def container(*mounts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "web", "volumeMounts": [{"name": "data", "mountPath": "/data", **one} for one in mounts], **more}


def text(path: str) -> str:
    return Path(path).read_text()


def id_of(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


async def started(bench: Any, pod: Any, plan: Plan = START) -> list[pb.Mount]:
    """The mounts of the volumes of the container that was started."""
    synced = await perform(bench.context(plan, pod))
    assert [type(result) for result in synced.results] == [Started], synced.results
    config = [call for call in bench.cri.calls if call[0] == "create_container"][-1][2]
    return [one for one in config.mounts if one.container_path.startswith("/data")]


async def failed(bench: Any, pod: Any, plan: Plan = START) -> StartFailed:
    synced = await perform(bench.context(plan, pod))
    (result,) = synced.results
    assert isinstance(result, StartFailed)
    return result


async def test_a_part_of_a_volume_is_mounted_from_a_place_of_its_own(bench: Any, make_pod: Any) -> None:
    pod = make_pod(DATA, container({"subPath": "a/b", "readOnly": True}, {"mountPath": "data2"}))
    part, whole = await started(bench, pod)
    pod_dir = str(bench.settings.pod_dir("u1"))
    assert part.host_path == f"{pod_dir}/volume-subpaths/data/web/0"
    assert (part.readonly, part.container_path) == (True, "/data")
    assert whole.host_path == f"{pod_dir}/volumes/kubernetes.io~empty-dir/data"
    assert id_of(part.host_path) == id_of(f"{whole.host_path}/a/b")


async def test_a_restart_reuses_the_mount_and_removal_takes_it_away(bench: Any, make_pod: Any, tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.mkdir()
    spec = {"volumes": [{"name": "data", "hostPath": {"path": str(host), "type": ""}}]}
    pod = make_pod(spec, container({"subPath": "logs"}))
    first = await started(bench, pod)
    again = await started(bench, pod, Plan(sandbox_id="s0", start=(StartContainer("web", 1),)))
    assert again == first
    assert len(mounts_below(tmp_path)) == 1
    (host / "logs" / "kept").touch()
    assert (await perform(bench.context(Plan(clean_up=True), pod))).results == ()
    assert mounts_below(tmp_path) == []
    assert not bench.settings.pod_dir("u1").exists()
    assert (host / "logs" / "kept").exists()


async def test_a_part_may_be_named_by_the_containers_variables(bench: Any, make_pod: Any) -> None:
    env = [
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "PART", "value": "$(POD)-x"},
    ]
    pod = make_pod(DATA, container({"subPathExpr": "logs/$(PART)/$$(x)"}, env=env))
    await started(bench, pod)
    root = bench.settings.pod_dir("u1") / "volumes" / "kubernetes.io~empty-dir" / "data"
    assert (root / "logs" / "web-x" / "$(x)").is_dir()


@pytest.mark.parametrize(
    ("expression", "value", "message"),
    [
        ("$(NONE)/x", "", 'missing value for "NONE"'),
        ("$(A)", "/abs", "error SubPath `/abs` must not be an absolute path"),
        ("x/$(A)", "../../up", "unable to provision SubPath `x/../../up`: must not contain '..'"),
        ("$(A)", "out", 'failed to prepare subPath for volumeMount "data" of container "web": leads out of the volume'),
    ],
)
async def test_a_part_that_cannot_be_given_is_a_config_error(
    bench: Any, make_pod: Any, expression: str, value: str, message: str
) -> None:
    root = bench.settings.pod_dir("u1") / "volumes" / "kubernetes.io~empty-dir" / "data"
    root.mkdir(parents=True)
    (root / "out").symlink_to("/etc")
    pod = make_pod(DATA, container({"subPathExpr": expression}, env=[{"name": "A", "value": value}]))
    result = await failed(bench, pod)
    assert result.reason == "CreateContainerConfigError"
    assert message in result.message
    assert "create_container" not in bench.cri.methods()


async def test_content_is_read_only_whatever_the_mount_says(bench: Any, make_pod: Any) -> None:
    item = {"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}
    spec = {"volumes": [{"name": "data", "downwardAPI": {"items": [item], "defaultMode": 0o644}}]}
    pod = make_pod(spec, container({"readOnly": False}, {"mountPath": "/data/one", "subPath": "labels"}))
    whole, part = await started(bench, pod)
    assert (whole.readonly, part.readonly) == (True, True)
    assert text(f"{whole.host_path}/labels") == text(part.host_path)


async def test_labels_that_changed_are_written_when_something_is_next_started(bench: Any, make_pod: Any) -> None:
    item = {"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}
    spec = {"volumes": [{"name": "data", "downwardAPI": {"items": [item], "defaultMode": 0o644}}]}
    (mounted,) = await started(bench, make_pod(spec, container({}), labels={"a": "1"}))
    assert text(f"{mounted.host_path}/labels") == 'a="1"'
    again = Plan(sandbox_id="s0", start=(StartContainer("web", 1),))
    await started(bench, make_pod(spec, container({}), labels={"a": "2"}), again)
    assert text(f"{mounted.host_path}/labels") == 'a="2"'


@pytest.mark.parametrize(
    ("wanted", "handler", "able", "recursive"),
    [
        ("Disabled", "", True, False),
        ("IfPossible", "", True, True),
        ("IfPossible", "", False, False),
        ("Enabled", "", True, True),
        ("IfPossible", "kata", True, False),
    ],
)
async def test_recursive_read_only_is_asked_for_where_the_handler_can(
    bench: Any, make_pod: Any, runtime: dict[str, Any], wanted: str, handler: str, able: bool, recursive: bool
) -> None:
    runtime["handlers"] = {"": able, "other": True}
    mounts = container({"readOnly": True, "recursiveReadOnly": wanted})
    (mounted,) = await started(bench, make_pod({**DATA, "runtimeClassName": handler}, mounts))
    assert (mounted.readonly, mounted.recursive_read_only) == (True, recursive)


@pytest.mark.parametrize(
    ("mount", "message"),
    [
        ({"readOnly": True}, 'volume "data" requested recursive read-only mode, but it is not supported'),
        ({}, "recursiveReadOnly needs readOnly: true"),
        ({"readOnly": True, "mountPropagation": "HostToContainer"}, "no mountPropagation"),
    ],
)
async def test_recursive_read_only_that_cannot_be_is_an_error(
    bench: Any, make_pod: Any, runtime: dict[str, Any], mount: dict[str, Any], message: str
) -> None:
    runtime["handlers"] = {"": False}
    result = await failed(bench, make_pod(DATA, container({"recursiveReadOnly": "Enabled", **mount})))
    assert result.reason == "CreateContainerConfigError"
    assert message in result.message


@pytest.mark.parametrize(
    ("propagation", "expected"),
    [("HostToContainer", pb.PROPAGATION_HOST_TO_CONTAINER), ("Bidirectional", pb.PROPAGATION_BIDIRECTIONAL)],
)
async def test_a_volume_whose_mounts_travel_is_a_shared_mount(
    bench: Any, make_pod: Any, propagation: str, expected: int
) -> None:
    pod = make_pod(DATA, container({"mountPropagation": propagation}))
    (mounted,) = await started(bench, pod)
    assert mounted.propagation == expected
    assert is_shared(mounted.host_path)


async def test_a_host_path_is_shared_only_by_the_host(bench: Any, make_pod: Any, tmp_path: Path) -> None:
    spec = {"volumes": [{"name": "data", "hostPath": {"path": str(tmp_path), "type": ""}}]}
    await started(bench, make_pod(spec, container({"mountPropagation": "HostToContainer"})))
    assert mounts_below(tmp_path.parent) == []


def image_pod(make_pod: Any, policy: str = "IfNotPresent", **mount: Any) -> Any:
    spec = {"volumes": [{"name": "data", "image": {"reference": IMAGE, "pullPolicy": policy}}]}
    return make_pod(spec, container(mount))


async def test_an_image_is_pulled_and_mounted_by_the_runtime(bench: Any, make_pod: Any) -> None:
    (mounted,) = await started(bench, image_pod(make_pod, subPath="conf"))
    assert mounted == pb.Mount(
        container_path="/data",
        readonly=True,
        image=pb.ImageSpec(image=f"sha256:{IMAGE}", user_specified_image=IMAGE),
        image_sub_path="conf",
    )
    assert ("pull_image", IMAGE) in bench.cri.calls
    assert ("Normal", "Pulling", f'Pulling image "{IMAGE}"') in bench.told()


async def test_an_image_that_is_not_there_is_what_the_container_waits_for(bench: Any, make_pod: Any) -> None:
    result = await failed(bench, image_pod(make_pod, "Never"))
    assert result.reason == "ErrImageNeverPull"
    assert IMAGE in result.message
    bench.cri.fail["pull_image"] = CriError("CRI x", "UNKNOWN", "no route")
    result = await failed(bench, image_pod(make_pod))
    assert result == StartFailed("web", "ErrImagePull", "no route", image_pull=True, image=IMAGE)
    late = Plan(sandbox_id="s0", start=(StartContainer("web", 0, held=((IMAGE, "no route"),)),))
    result = await failed(bench, image_pod(make_pod), late)
    told = f'Back-off pulling image "{IMAGE}": no route'
    assert result == StartFailed("web", "ImagePullBackOff", told, image=IMAGE)


async def test_the_back_off_of_a_containers_own_image_is_not_its_volumes(bench: Any, make_pod: Any) -> None:
    held = Plan(make_sandbox=0, start=(StartContainer("web", 0, pull_allowed=False, back_off="no route"),))
    await started(bench, image_pod(make_pod), held)
    assert ("pull_image", IMAGE) in bench.cri.calls


async def test_a_volume_of_the_containers_own_image_has_its_back_off(bench: Any, make_pod: Any) -> None:
    spec = {"volumes": [{"name": "data", "image": {"reference": "reg.test/web:1", "pullPolicy": "Always"}}]}
    held = Plan(make_sandbox=0, start=(StartContainer("web", 0, pull_allowed=False, back_off="no route"),))
    assert (await failed(bench, make_pod(spec, container({})), held)).reason == "ImagePullBackOff"


async def test_a_runtime_that_would_leave_the_image_out_is_named(
    bench: Any, make_pod: Any, runtime: dict[str, Any]
) -> None:
    runtime["version"] = "1.6.20~ds1"
    result = await failed(bench, image_pod(make_pod))
    assert result.reason == "CreateContainerConfigError"
    assert result.message == (
        'image volume "data": containerd 1.6.20~ds1 cannot mount an image and would leave it out '
        "(use containerd 2.1 or later)"
    )
    assert ("pull_image", IMAGE) not in bench.cri.calls


@pytest.mark.parametrize(
    ("name", "version", "part", "lacks"),
    [
        ("containerd", "v2.1.0-beta.0-18-g8237c496", False, False),
        ("containerd", "v2.1.4", True, True),
        ("containerd", "2.2.0", True, False),
        ("containerd", "v2.0.5", False, True),
        ("containerd", "v10.0.0", True, False),
        ("cri-o", "1.30.1", False, True),
        ("cri-o", "1.31.0", False, False),
        ("cri-o", "1.32.0", True, True),
        ("hollow", "0.1", True, False),
        ("containerd", "unknown", True, False),
    ],
)
async def test_versions_that_mount_images(
    bench: Any, runtime: dict[str, Any], name: str, version: str, part: bool, lacks: bool
) -> None:
    runtime.update(name=name, version=version)
    reason, mend = await lacks_images(bench.cri, part)
    assert (bool(reason), bool(mend)) == (lacks, lacks)


async def test_a_container_without_the_volume_does_not_wait_for_its_image(bench: Any, make_pod: Any) -> None:
    spec = {"volumes": [{"name": "data", "image": {"reference": IMAGE, "pullPolicy": "Always"}}]}
    await started(bench, make_pod(spec))
    assert ("pull_image", IMAGE) not in bench.cri.calls
