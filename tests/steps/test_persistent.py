"""Volumes behind claims and CSI drivers in whole syncs: prepared before containers, given back at the end."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.kit.csi_driver import NAME, STAGE_UNSTAGE, CsiDriver, serving
from tests.kit.volumes import mounts_below, unmounted_after

from podherd.machines.objects import references
from podherd.machines.pod.events import Started, StepFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.model.status import rfc3339
from podherd.steps import persistent
from podherd.steps.in_use import InUse, held_before
from podherd.steps.known_objects import KnownObjects
from podherd.steps.runner import perform
from podherd.steps.volumes import PATIENCE_S
from podherd.volumes import fs_group
from podherd.volumes.csi import places
from podherd.wire.codec import pack
from podherd.wire.node import NodeFacts
from podherd.wire.objects import ObjectState, Ref

START = Plan(sandbox_id="s0", start=(StartContainer("web", 0),))
MOUNT = {"name": "data", "mountPath": "/data"}
CLAIM, VOLUME = Ref("PersistentVolumeClaim", "shop", "c"), Ref("PersistentVolume", "", "pv")
DRIVER = Ref("CSIDriver", "", NAME)
NODE = NodeFacts("n1", "nu", False, {"zone": "a"}, {}, (), {}, {})
BOUND = {"metadata": {"name": "c", "uid": "cu"}, "spec": {"volumeName": "pv"}, "status": {"phase": "Bound"}}


def tell(bench: Any, ref: Ref, body: Any = None, problem: str = "", missing: bool = False) -> None:
    bench.tools.objects.take(ObjectState((ref,), b"" if body is None else pack(body), problem, missing))


def tell_volume(bench: Any, **spec: Any) -> None:
    tell(bench, CLAIM, BOUND)
    tell(bench, VOLUME, {"metadata": {"name": "pv"}, "spec": {"claimRef": {"uid": "cu"}, **spec}})


@pytest.fixture
def pod(bench: Any, make_pod: Any, tmp_path: Path) -> Iterator[Any]:
    """A pod of an API server with a claim; its services are known."""
    bench.tools.objects = KnownObjects(lambda _needs: None)
    bench.tools.node = NODE
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}]
    made = make_pod({"volumes": volumes, "nodeName": "n1"}, {"name": "web", "volumeMounts": [MOUNT]})
    bench.tools.objects.want(made)
    for ref in references.services(made):
        tell(bench, ref, [])
    with unmounted_after(tmp_path):
        yield made


def mounted_at(bench: Any) -> str:
    config = next(call[2] for call in bench.cri.calls if call[0] == "create_container")
    return next(str(one.host_path) for one in config.mounts if one.container_path == "/data")


async def test_a_local_volume_is_mounted_and_gone_after_the_pod_with_its_files_left(
    bench: Any, pod: Any, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "file").write_text("kept")
    tell_volume(bench, local={"path": str(disk)})
    synced = await perform(bench.context(START, pod))
    assert isinstance(synced.results[0], Started)
    assert mounted_at(bench) == f"{bench.settings.pod_dir('u1')}/volumes/kubernetes.io~local-volume/pv"
    synced = await perform(bench.context(Plan(release=True), pod))
    assert synced.results == ()
    assert mounts_below(tmp_path) == []
    assert (disk / "file").read_text() == "kept"


async def test_a_claim_that_is_not_bound_is_told_and_waited_for(bench: Any, pod: Any) -> None:
    tell(bench, CLAIM, {**BOUND, "status": {"phase": "Pending"}})
    tell(bench, VOLUME, problem='persistentvolumes "pv" not found', missing=True)
    synced = await perform(bench.context(START, pod))
    assert isinstance(synced.results[-1], StepFailed)
    assert bench.told() == [("Warning", "FailedMount", "error processing PVC shop/c: PVC is not bound")]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"local": {"path": "/none"}}, 'MountVolume.SetUp failed for volume "pv" : path "/none" does not exist'),
        (
            {
                "local": {"path": "/etc"},
                "nodeAffinity": {
                    "required": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}
                        ]
                    }
                },
            },
            'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms',
        ),
    ],
)
async def test_what_keeps_a_volume_away_is_told_under_its_own_name(
    bench: Any, pod: Any, spec: dict[str, Any], said: str
) -> None:
    tell_volume(bench, **spec)
    await perform(bench.context(START, pod))
    assert bench.told() == [("Warning", "FailedMount", said)]


async def test_a_csi_volume_comes_once_its_driver_is_here_and_goes_with_the_pod(
    bench: Any, pod: Any, tmp_path: Path
) -> None:
    tell_volume(bench, csi={"driver": NAME, "volumeHandle": "h"})
    tell(bench, DRIVER, {"spec": {"attachRequired": False}})
    await perform(bench.context(START, pod))
    assert "not found in the list of registered CSI drivers" in bench.told()[0][2]
    with TemporaryDirectory(prefix="csi") as short_path:
        driver = CsiDriver(tmp_path / "driver", STAGE_UNSTAGE)
        driver.socket = f"{short_path}/csi.sock"
        bench.tools.node = replace(NODE, csi_sockets={NAME: driver.socket})
        async with serving(driver):
            synced = await perform(bench.context(START, pod))
            assert isinstance(synced.results[0], Started)
            assert mounted_at(bench) == f"{bench.settings.pod_dir('u1')}/volumes/kubernetes.io~csi/pv/mount"
            synced = await perform(bench.context(Plan(clean_up=True), pod))
            assert synced.results == ()
    assert driver.methods()[-2:] == ["NodeUnpublishVolume", "NodeUnstageVolume"]
    assert mounts_below(tmp_path) == []
    assert os.listdir(bench.settings.root_dir / "pods") == []


def test_an_attachable_volume_has_its_attachment_asked_for_by_name_once_it_is_attached(bench: Any, pod: Any) -> None:
    attachment = references.attachment(NAME, "h", "n1")
    tell_volume(bench, csi={"driver": NAME, "volumeHandle": "h"})
    assert attachment not in bench.tools.objects.needs()[0].refs
    tell(bench, DRIVER, {"spec": {"attachRequired": True}})
    assert attachment not in bench.tools.objects.needs()[0].refs
    bench.tools.objects.attached([f"kubernetes.io/csi/{NAME}^h"])
    assert pod.uid == bench.tools.objects.needs()[0].uid
    assert attachment in bench.tools.objects.needs()[0].refs


async def test_a_change_of_ownership_that_takes_long_is_told_of_again_and_again(
    bench: Any, pod: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(persistent, "SLOW_S", 0.01)
    monkeypatch.setattr(persistent, "AGAIN_S", 0.01)
    context = bench.context(START, pod)
    with persistent._told_of(context, "pv") as progress:
        assert isinstance(progress, fs_group.Progress)
        progress.files = 7
        await bench.until(lambda: len(bench.told()) >= 2)
    first, second, *_ = bench.told()
    assert first[:2] == ("Warning", "VolumePermissionChangeInProgress")
    assert first[2].startswith("Setting volume ownership for u1/volumes/pv is taking longer than expected")
    assert second[2] == "Setting volume ownership for u1/volumes/pv, processed 7 files."


async def test_a_volume_that_is_not_attached_yet_is_told_of_only_when_it_takes_long(bench: Any, pod: Any) -> None:
    tell_volume(bench, csi={"driver": NAME, "volumeHandle": "h"})
    tell(bench, DRIVER, {"spec": {"attachRequired": True}})
    bench.tools.node = replace(NODE, volumes_in_use=(f"kubernetes.io/csi/{NAME}^h",))
    pod.body["metadata"]["creationTimestamp"] = rfc3339(bench.tools.clock())
    synced = await perform(bench.context(START, pod))
    assert isinstance(synced.results[-1], StepFailed)
    assert bench.told() == []
    pod.body["metadata"]["creationTimestamp"] = rfc3339(bench.tools.clock() - PATIENCE_S - 2)
    await perform(bench.context(START, pod))
    assert bench.told()[0][2].startswith("Unable to attach or mount volumes: unmounted volumes=[data]")


async def test_a_refresh_publishes_again_what_its_driver_wants_republished(
    bench: Any, pod: Any, tmp_path: Path
) -> None:
    tell_volume(bench, csi={"driver": NAME, "volumeHandle": "h"})
    with TemporaryDirectory(prefix="csi") as short_path:
        driver = CsiDriver(tmp_path / "driver", STAGE_UNSTAGE)
        driver.socket = f"{short_path}/csi.sock"
        bench.tools.node = replace(NODE, csi_sockets={NAME: driver.socket})
        async with serving(driver):
            for spec, republished, published in (({}, (), 1), ({"requiresRepublish": True}, ("u1",), 2)):
                tell(bench, DRIVER, {"spec": {"attachRequired": False, **spec}})
                assert bench.tools.objects.republished() == republished
                if not spec:
                    await perform(bench.context(START, pod))
                await perform(bench.context(Plan(refresh=True), pod))
                assert len(driver.asked("NodePublishVolume")) == published
            assert len(driver.asked("NodeStageVolume")) == 1
            await perform(bench.context(Plan(clean_up=True), pod))


def test_attachable_volumes_are_in_use_from_the_claim_to_the_pods_end_and_what_was_held_before_counts(
    bench: Any, pod: Any
) -> None:
    told: list[tuple[str, ...]] = []
    in_use = InUse(told.append)
    bench.tools.objects = KnownObjects(lambda _needs: None, in_use.use)
    bench.tools.objects.want(pod)
    tell_volume(bench, csi={"driver": NAME, "volumeHandle": "h"})
    tell(bench, DRIVER, {"spec": {"attachRequired": True}})
    assert told == []
    held = bench.settings.pod_dir("u0") / "volumes" / places.IN_POD / "pv0"
    places.save(str(held), {"driverName": "d", "volumeHandle": "h0", "volumeLifecycleMode": "Persistent"})
    inline = held.with_name("inline")
    places.save(str(inline), {"driverName": "d", "volumeHandle": "i", "volumeLifecycleMode": "Ephemeral"})
    in_use.begin(held_before(bench.settings, ["u0", "u1"]))
    mine, old = f"kubernetes.io/csi/{NAME}^h", "kubernetes.io/csi/d^h0"
    tell(bench, VOLUME, problem="gone", missing=True)
    in_use.drop("u0")
    in_use.again()
    in_use.drop("u1")
    assert told == [tuple(sorted((mine, old))), (mine,), (mine,), ()]
