"""CSI volumes of pods through a real driver: staged once, published for each pod, given back whatever broke before."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.kit.csi_driver import NAME, VOLUME_MOUNT_GROUP
from tests.kit.volumes import mounts_below
from tests.volumes.csi.conftest import World

from podherd.machines.objects import references
from podherd.volumes.csi.publish import publish, unpublish
from podherd.volumes.csi.volume import CsiVolume, of_pod
from podherd.volumes.errors import VolumeError
from podherd.wire.objects import Ref

Make = Callable[..., CsiVolume]
INLINE = {"name": "scratch", "csi": {"driver": NAME, "volumeAttributes": {"size": "1Gi"}}}


def text(*path: str) -> str:
    return Path(*path).read_text()


def group(*path: str) -> int:
    return Path(*path).stat().st_gid


async def refused(work: Any) -> VolumeError:
    with pytest.raises(VolumeError) as caught:
        await work
    return caught.value


async def test_a_volume_is_staged_then_published_where_the_kubelet_has_it(world: World, volume: Make) -> None:
    (world.driver.data("vol-1") / "file").write_text("kept")
    site = world.site()
    ready = await publish(site, volume(), world.desk)
    assert ready.path == f"{site.pod_dir}/volumes/kubernetes.io~csi/pv-vol-1/mount"
    assert text(ready.path, "file") == "kept"
    assert world.driver.methods() == ["NodeStageVolume", "NodePublishVolume"]
    (stage,) = world.driver.asked("NodeStageVolume")
    assert stage.staging_target_path.startswith(f"{world.root}/plugins/kubernetes.io/csi/{NAME}/")
    assert stage.staging_target_path.endswith("/globalmount")
    noted = json.loads(text(ready.path, "..", "vol_data.json"))
    assert (noted["driverName"], noted["volumeHandle"], noted["specVolID"]) == (NAME, "vol-1", "pv-vol-1")


async def test_what_is_there_is_not_published_again(world: World, volume: Make) -> None:
    ready = await publish(world.site(), volume(), world.desk)
    assert await publish(world.site(), volume(), world.desk) == ready
    assert world.driver.methods() == ["NodeStageVolume", "NodePublishVolume"]


async def test_the_last_pod_that_leaves_has_the_volume_unstaged_and_nothing_is_left(world: World, volume: Make) -> None:
    first, second = world.site("u1"), world.site("u2")
    await publish(first, volume(), world.desk)
    await publish(second, volume(), world.desk)
    await unpublish(first.pod_dir, world.desk)
    assert "NodeUnstageVolume" not in world.driver.methods()
    await unpublish(second.pod_dir, world.desk)
    assert world.driver.methods()[-2:] == ["NodeUnpublishVolume", "NodeUnstageVolume"]
    assert mounts_below(world.root) == []
    assert os.listdir(world.root / "plugins" / "kubernetes.io" / "csi" / NAME) == []
    assert os.listdir(f"{second.pod_dir}/volumes/kubernetes.io~csi") == []
    assert os.listdir(world.root / "plugins" / ".csi-locks") == []


async def test_a_driver_that_stages_nothing_is_published_from_nowhere(world: World, volume: Make) -> None:
    world.driver.can = ()
    site = world.site()
    await publish(site, volume(), world.desk)
    await unpublish(site.pod_dir, world.desk)
    assert world.driver.methods() == ["NodePublishVolume", "NodeUnpublishVolume"]
    assert world.driver.asked("NodePublishVolume")[0].staging_target_path == ""


async def test_what_the_volume_and_the_pod_say_reaches_the_driver(world: World, volume: Make) -> None:
    world.objects[Ref("Secret", "kube", "s")] = {"data": {"key": "c2VjcmV0"}}
    csi = {"fsType": "ext4", "volumeAttributes": {"a": "b"}}
    csi |= {
        "nodeStageSecretRef": {"namespace": "kube", "name": "s"},
        "nodePublishSecretRef": {"namespace": "kube", "name": "s"},
    }
    wanted = volume(read_only=True, csi=csi, accessModes=["ReadWriteMany"], mountOptions=["noatime"])
    ready = await publish(world.site(), wanted, world.desk)
    assert ready.read_only
    (stage,), (told,) = world.driver.asked("NodeStageVolume"), world.driver.asked("NodePublishVolume")
    for request in (stage, told):
        assert dict(request.secrets) == {"key": "secret"}
        assert request.volume_capability.mount.fs_type == "ext4"
        assert list(request.volume_capability.mount.mount_flags) == ["noatime"]
        assert request.volume_capability.access_mode.mode == 5
        assert dict(request.volume_context) == {"a": "b"}
    assert told.readonly
    assert told.staging_target_path == stage.staging_target_path


async def test_a_driver_that_asks_who_the_pod_is_is_told_and_given_its_tokens(world: World, volume: Make) -> None:
    request = {"audience": "vault", "expirationSeconds": 600}
    world.rules(attachRequired=False, podInfoOnMount=True, tokenRequests=[request])
    site = world.site(serviceAccountName="sa")
    world.objects[references.token(site.pod, request)] = {"token": "t", "expirationTimestamp": "2030-01-01T00:00:00Z"}
    await publish(site, volume(), world.desk)
    context = dict(world.driver.asked("NodePublishVolume")[0].volume_context)
    tokens = json.loads(context.pop("csi.storage.k8s.io/serviceAccount.tokens"))
    assert tokens == {"vault": {"token": "t", "expirationTimestamp": "2030-01-01T00:00:00Z"}}
    assert context == {
        "csi.storage.k8s.io/pod.name": "p",
        "csi.storage.k8s.io/pod.namespace": "d",
        "csi.storage.k8s.io/pod.uid": "u1",
        "csi.storage.k8s.io/serviceAccount.name": "sa",
        "csi.storage.k8s.io/ephemeral": "false",
    }


async def test_a_driver_that_wants_to_be_asked_again_is_with_what_is_new(world: World, volume: Make) -> None:
    world.rules(attachRequired=False, requiresRepublish=True)
    site = world.site()
    await publish(site, volume(), world.desk)
    world.driver.failures["NodePublishVolume"] = [(grpc.StatusCode.INTERNAL, "no")]
    await refused(publish(site, volume(), world.desk))
    await publish(site, volume(), world.desk)
    assert world.driver.methods() == ["NodeStageVolume", *["NodePublishVolume"] * 3]
    assert len(mounts_below(site.pod_dir)) == 1


async def test_an_inline_volume_is_the_pods_own_and_never_staged(world: World) -> None:
    world.rules(attachRequired=False, volumeLifecycleModes=["Ephemeral"], podInfoOnMount=True)
    site = world.site()
    ready = await publish(site, of_pod(site.pod, INLINE), world.desk)
    assert ready.path == f"{site.pod_dir}/volumes/kubernetes.io~csi/scratch/mount"
    (told,) = world.driver.asked("NodePublishVolume")
    assert told.volume_id.startswith("csi-")
    assert told.volume_context["size"] == "1Gi"
    assert told.volume_context["csi.storage.k8s.io/ephemeral"] == "true"
    await unpublish(site.pod_dir, world.desk)
    assert world.driver.methods() == ["NodePublishVolume", "NodeUnpublishVolume"]


@pytest.mark.parametrize(
    ("known", "words"), [(True, '(only supports ["Persistent"])'), (False, "(no CSIDriver object)")]
)
async def test_an_inline_volume_needs_a_driver_that_says_it_can(world: World, known: bool, words: str) -> None:
    if not known:
        world.objects.clear()
    site = world.site()
    error = await refused(publish(site, of_pod(site.pod, INLINE), world.desk))
    assert error.words == (
        "kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: "
        f'volume mode "Ephemeral" not supported by driver {NAME} {words}'
    )


async def test_an_attachable_volume_waits_until_the_node_status_names_it(world: World, volume: Make) -> None:
    world.rules(attachRequired=True)
    name = f"kubernetes.io/csi/{NAME}^vol-1"
    for told, words in (
        (set[str](), "Volume has not been added to the list of VolumesInUse in the node's volume status"),
        (world.in_use, "Volume not attached according to node status"),
    ):
        told.add(name)
        error = await refused(publish(world.site(), volume(), world.desk))
        assert (error.waits, error.words) == (True, f'{words} for volume "pv-vol-1"')
    world.attached.add(name)
    attached = references.attachment(NAME, "vol-1", "n1")
    world.objects[attached] = {"status": {"attached": False}}
    assert (await refused(publish(world.site(), volume(), world.desk))).waits
    assert world.driver.asked("NodeStageVolume") == []
    world.objects[attached] = {"status": {"attached": True, "attachmentMetadata": {"device": "/dev/x"}}}
    await publish(world.site(), volume(), world.desk)
    assert dict(world.driver.asked("NodeStageVolume")[0].publish_context) == {"device": "/dev/x"}
    assert dict(world.driver.asked("NodePublishVolume")[0].publish_context) == {"device": "/dev/x"}


async def test_a_driver_that_is_not_registered_is_waited_for_in_the_kubelets_words(world: World, volume: Make) -> None:
    world.sockets.clear()
    error = await refused(publish(world.site(), volume(), world.desk))
    who = "kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient"
    words = f"{who}: driver name {NAME} not found in the list of registered CSI drivers"
    assert error.said == f'MountVolume.MountDevice failed for volume "pv-vol-1" : {words}'
    assert os.listdir(world.site().pod_dir) == []


async def test_a_driver_that_is_gone_leaves_what_it_has_to_be_given_back_later(world: World, volume: Make) -> None:
    site = world.site()
    await publish(site, volume(), world.desk)
    sockets, world.sockets = world.sockets, {}
    await refused(unpublish(site.pod_dir, world.desk))
    world.sockets = sockets
    await unpublish(site.pod_dir, world.desk)
    assert mounts_below(world.root) == []


@pytest.mark.parametrize("method", ["NodeStageVolume", "NodePublishVolume"])
async def test_what_failed_is_said_in_the_kubelets_words_and_given_back_all_the_same(
    world: World, volume: Make, method: str
) -> None:
    site = world.site()
    world.driver.failures[method] = [(grpc.StatusCode.INVALID_ARGUMENT, "disk is flat")]
    error = await refused(publish(site, volume(), world.desk))
    assert error.words == "rpc error: code = InvalidArgument desc = disk is flat"
    staging = method == "NodeStageVolume"
    said = f'MountVolume.MountDevice failed for volume "pv-vol-1" : {error.words}'
    assert error.said == (said if staging else "")
    await unpublish(site.pod_dir, world.desk)
    assert world.driver.methods()[-2:] == ["NodeUnpublishVolume", "NodeUnstageVolume"]
    assert mounts_below(world.root) == []


@pytest.mark.parametrize("method", ["NodeUnpublishVolume", "NodeUnstageVolume"])
async def test_a_take_away_that_failed_is_done_again_from_what_is_on_disk(
    world: World, volume: Make, method: str
) -> None:
    site = world.site()
    await publish(site, volume(), world.desk)
    world.driver.failures[method] = [(grpc.StatusCode.UNAVAILABLE, "later")]
    await refused(unpublish(site.pod_dir, world.desk))
    await unpublish(site.pod_dir, world.desk)
    assert mounts_below(world.root) == []
    assert os.listdir(world.root / "plugins" / "kubernetes.io" / "csi" / NAME) == []


async def test_one_that_cannot_be_taken_away_keeps_no_other_from_it(world: World, volume: Make) -> None:
    site = world.site()
    await publish(site, volume("a"), world.desk)
    await publish(site, volume("b"), world.desk)
    world.driver.failures["NodeUnpublishVolume"] = [(grpc.StatusCode.INTERNAL, "no")]
    await refused(unpublish(site.pod_dir, world.desk))
    assert [Path(path).parts[-2] for path, *_ in mounts_below(site.pod_dir)] == ["pv-a"]


async def test_pods_that_come_and_go_at_once_never_lose_the_volume_under_one_that_has_it(
    world: World, volume: Make
) -> None:
    stays = world.site("stays")
    await publish(stays, volume(), world.desk)

    async def pass_by(number: int) -> None:
        site = world.site(f"u{number}")
        await publish(site, volume(), world.desk)
        assert mounts_below(site.pod_dir)
        await unpublish(site.pod_dir, world.desk)

    await asyncio.gather(*(pass_by(number) for number in range(8)))
    assert "NodeUnstageVolume" not in world.driver.methods()
    await unpublish(stays.pod_dir, world.desk)
    assert world.driver.methods().count("NodeUnstageVolume") == 1


async def test_a_mount_that_nobody_wrote_down_is_left_alone(world: World, volume: Make) -> None:
    site = world.site()
    ready = await publish(site, volume(), world.desk)
    Path(ready.path).with_name("vol_data.json").unlink()
    error = await refused(unpublish(site.pod_dir, world.desk))
    assert "does not say whose" in str(error)


async def test_a_place_that_was_only_begun_is_cleared(world: World) -> None:
    site = world.site()
    os.makedirs(f"{site.pod_dir}/volumes/kubernetes.io~csi/pv/mount")
    await unpublish(site.pod_dir, world.desk)
    assert os.listdir(f"{site.pod_dir}/volumes/kubernetes.io~csi") == []
    assert world.driver.calls == []


@pytest.mark.parametrize(
    ("policy", "spec", "given"),
    [
        ("File", {}, True),
        ("None", {"csi": {"fsType": "ext4"}, "accessModes": ["ReadWriteOnce"]}, False),
        ("ReadWriteOnceWithFSType", {"csi": {"fsType": "ext4"}, "accessModes": ["ReadWriteOnce"]}, True),
        ("ReadWriteOnceWithFSType", {"csi": {"fsType": "ext4"}, "accessModes": ["ReadWriteMany"]}, False),
        ("ReadWriteOnceWithFSType", {"accessModes": ["ReadWriteOnce"]}, False),
    ],
)
async def test_the_pods_group_gets_the_volume_where_the_drivers_policy_says_so(
    world: World, volume: Make, policy: str, spec: dict[str, Any], given: bool
) -> None:
    world.rules(attachRequired=False, fsGroupPolicy=policy)
    (world.driver.data("vol-1") / "file").write_text("")
    ready = await publish(world.site(securityContext={"fsGroup": 4242}), volume(**spec), world.desk)
    assert (group(ready.path, "file") == 4242) == given


async def test_a_driver_that_gives_the_group_itself_is_told_it(world: World, volume: Make) -> None:
    world.driver.can = (*world.driver.can, VOLUME_MOUNT_GROUP)
    world.rules(attachRequired=False, fsGroupPolicy="File")
    ready = await publish(world.site(securityContext={"fsGroup": 4242}), volume(), world.desk)
    told = world.driver.asked("NodePublishVolume")[0].volume_capability.mount
    assert told.volume_mount_group == "4242"
    assert group(ready.path) != 4242


async def test_what_is_not_known_yet_is_waited_for(world: World, volume: Make) -> None:
    world.objects[Ref("CSIDriver", "", NAME)] = None
    assert "not known yet" in str(await refused(publish(world.site(), volume(), world.desk)))


@pytest.mark.parametrize("driver", ["", "a/b", ".."])
async def test_a_driver_whose_name_leads_elsewhere_is_refused(volume: Make, driver: str) -> None:
    with pytest.raises(VolumeError, match="cannot be used"):
        volume(csi={"driver": driver})
