"""A CSI volume into a pod's directory and out of it again (kubelet behaviour, section 13.7).

`vol_data.json` is written before the driver is called and goes after it has let go, so that whoever comes after a crash
knows what to give back. The driver's calls are idempotent: what was broken off is done again.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from podherd.machines.objects import references
from podherd.volumes import fs_group
from podherd.volumes.csi import attributes, places
from podherd.volumes.csi.client import STAGE_UNSTAGE, VOLUME_MOUNT_GROUP, Plugin
from podherd.volumes.csi.desk import Desk, Rules, check_attached, rules_of
from podherd.volumes.csi.lock import locked
from podherd.volumes.csi.volume import READ_WRITE_ONCE, CsiVolume
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import is_mount
from podherd.volumes.ready import Ready, Site

InThread = Callable[..., Awaitable[Any]]
"""Runs blocking file work beside the loop, as `asyncio.to_thread`."""


async def publish(
    site: Site,
    volume: CsiVolume,
    desk: Desk,
    in_thread: InThread = asyncio.to_thread,
    progress: fs_group.Progress | None = None,
) -> Ready:
    """Have the driver show the volume at `<pod>/volumes/kubernetes.io~csi/<name>/mount`. Idempotent.

    Raises VolumeError, with the kubelet's words, for whatever keeps it from being there.
    """
    rules = rules_of(desk, volume.driver)
    rules.check_lifecycle(volume)
    place = places.pod_place(site.pod_dir, volume)
    ready = Ready(f"{place}/mount", read_only=volume.read_only)
    held = places.held(place)
    is_there = held is not None and held.published and await in_thread(_is_mounted, ready.path)
    if is_there and not rules.republish:
        return ready
    try:
        await _Publishing(site, volume, desk, rules, in_thread).run(ready.path, is_there, progress)
    except OSError as error:
        raise VolumeError(f'volume "{volume.name}"', f"{error.filename or place}: {error.strerror}") from error
    return ready


async def unpublish(pod_dir: str, desk: Desk, in_thread: InThread = asyncio.to_thread) -> None:
    """Have the drivers take away every CSI volume of the pod; what no other pod has is unstaged. Idempotent.

    Raises VolumeError when any could not be taken away; the others are, all the same.
    """
    failed: list[VolumeError] = []
    for directory in await in_thread(lambda: list(places.directories(pod_dir))):
        try:
            await _take_away(directory, desk, in_thread)
        except VolumeError as error:
            failed.append(error)
        except OSError as error:
            failed.append(VolumeError(error.filename or directory, f"cannot be removed: {error.strerror}"))
    if failed:
        raise failed[0]


class _Publishing:
    def __init__(self, site: Site, volume: CsiVolume, desk: Desk, rules: Rules, in_thread: InThread) -> None:
        self._site = site
        self._volume = volume
        self._desk = desk
        self._rules = rules
        self._in_thread = in_thread

    async def run(self, target: str, is_there: bool, progress: fs_group.Progress | None) -> None:
        volume, desk = self._volume, self._desk
        check_attached(desk, self._rules, volume)
        async with Plugin(self._socket()) as plugin:
            can = await plugin.capabilities()
            staged = await self._stage(plugin, can, is_there)
            await self._publish(plugin, can, staged, target)
        if not is_there and self._gives_group(can):
            group, policy = self._site.group, self._site.group_policy
            await self._in_thread(fs_group.give, target, group, policy, volume.read_only, progress)
        if not is_there:
            await self._note(published=True)

    def _socket(self) -> str:
        """Where the driver listens. Raises VolumeError."""
        volume, desk = self._volume, self._desk
        if volume.ephemeral:
            return desk.socket(volume.driver, "mounter.SetUpAt failed to get CSI client")
        try:
            return desk.socket(volume.driver, "attacher.MountDevice failed to create newCsiDriverClient")
        except VolumeError as error:
            raise self._no_device(error) from error

    def _no_device(self, error: VolumeError) -> VolumeError:
        """The error as the kubelet tells it of what comes before a volume is published."""
        said = f'MountVolume.MountDevice failed for volume "{self._volume.name}" : {error.words}'
        return VolumeError(error.thing, error.reason, error.mend, error.words, said, waits=error.waits)

    async def _stage(self, plugin: Plugin, can: frozenset[int], is_there: bool) -> str:
        """Where it is staged; empty for a volume or driver that is not. Writes down that this pod has it."""
        volume, desk = self._volume, self._desk
        if volume.ephemeral:
            await self._note()
            return ""
        place = places.global_place(desk.root, volume.driver, volume.handle)
        path = f"{place}/globalmount" if STAGE_UNSTAGE in can else ""
        if is_there:
            return path
        async with locked(desk.root, volume.driver, volume.handle):
            await self._note()
            if path:
                data = {"volumeHandle": volume.handle, "driverName": volume.driver}
                await self._in_thread(places.save, place, data)
                await self._in_thread(_make, path)
                await self._call_stage(plugin, can, path)
        return path

    async def _call_stage(self, plugin: Plugin, can: frozenset[int], path: str) -> None:
        volume, desk = self._volume, self._desk
        try:
            await plugin.node(
                "NodeStageVolume",
                volume_id=volume.handle,
                publish_context=attributes.publish_context(desk, self._rules, volume),
                staging_target_path=path,
                volume_capability=attributes.capability(volume, can, self._site.group),
                secrets=attributes.secrets(desk, volume.stage_secret, "NodeStageSecretRef"),
                volume_context=dict(volume.attributes or {}),
            )
        except VolumeError as error:
            raise self._no_device(error) from error

    async def _publish(self, plugin: Plugin, can: frozenset[int], staged: str, target: str) -> None:
        volume, desk, pod = self._volume, self._desk, self._site.pod
        secrets = attributes.secrets(desk, volume.publish_secret, "NodePublishSecretRef")
        context = {**(volume.attributes or {}), **attributes.pod_attributes(pod, self._rules, volume)}
        tokens = attributes.tokens(desk, pod, self._rules)
        (secrets if self._rules.spec.get("serviceAccountTokenInSecrets") else context).update(tokens)
        await plugin.node(
            "NodePublishVolume",
            volume_id=volume.handle,
            publish_context=attributes.publish_context(desk, self._rules, volume),
            staging_target_path=staged,
            target_path=target,
            volume_capability=attributes.capability(volume, can, self._site.group),
            readonly=volume.read_only,
            secrets=secrets,
            volume_context=context,
        )

    async def _note(self, published: bool = False) -> None:
        """The vol_data.json of this pod; published: all of it was done, its group's part too."""
        volume, desk = self._volume, self._desk
        data = {
            "specVolID": volume.name,
            "volumeHandle": volume.handle,
            "driverName": volume.driver,
            "nodeName": desk.node,
            "volumeLifecycleMode": "Ephemeral" if volume.ephemeral else "Persistent",
            "attachmentID": references.attachment(volume.driver, volume.handle, desk.node).name,
        }
        if published:
            data["published"] = "true"
        await self._in_thread(places.save, places.pod_place(self._site.pod_dir, volume), data)

    def _gives_group(self, can: frozenset[int]) -> bool:
        """Whether the group is ours to give, and not the driver's (kubelet behaviour, section 13.5)."""
        volume, policy = self._volume, self._rules.group_policy
        if self._site.group is None or volume.read_only or VOLUME_MOUNT_GROUP in can or policy == "None":
            return False
        if policy == "File":
            return True
        modes = (READ_WRITE_ONCE,) if volume.ephemeral else volume.access_modes
        return bool(volume.fs_type) and any(mode in (READ_WRITE_ONCE, "ReadWriteOncePod") for mode in modes)


async def _take_away(directory: str, desk: Desk, in_thread: InThread) -> None:
    held = places.held(directory)
    if held is None:
        if await in_thread(_is_mounted, f"{directory}/mount"):
            mend = "unmount it"
            raise VolumeError(directory, "a volume is mounted here, and its vol_data.json does not say whose", mend)
        await in_thread(_clear, directory)
        return
    async with Plugin(desk.socket(held.driver, "mounter.TearDownAt failed to get CSI client")) as plugin:
        await plugin.node("NodeUnpublishVolume", volume_id=held.handle, target_path=held.target)
        await in_thread(_check_gone, held.target)
        if held.ephemeral:
            await in_thread(_clear, directory)
            return
        async with locked(desk.root, held.driver, held.handle):
            if not await in_thread(places.is_held, desk.root, held):
                await _unstage(plugin, held, desk, in_thread)
            await in_thread(_clear, directory)


async def _unstage(plugin: Plugin, held: places.Held, desk: Desk, in_thread: InThread) -> None:
    """No other pod has the volume. A driver that stages nothing has left nothing."""
    place = places.global_place(desk.root, held.driver, held.handle)
    if not await in_thread(os.path.lexists, place):
        return
    path = f"{place}/globalmount"
    if STAGE_UNSTAGE in await plugin.capabilities():
        await plugin.node("NodeUnstageVolume", volume_id=held.handle, staging_target_path=path)
    await in_thread(_check_gone, path)
    await in_thread(places.rmdir, path)
    await in_thread(places.forget, place)


def _check_gone(path: str) -> None:
    """Raises VolumeError when a mount is left."""
    if _is_mounted(path):
        raise VolumeError(path, "is still mounted after its driver has taken the volume away")


def _is_mounted(path: str) -> bool:
    try:
        return is_mount(path)
    except FileNotFoundError:
        return False


def _make(path: str) -> None:
    os.makedirs(path, 0o750, exist_ok=True)


def _clear(directory: str) -> None:
    """Remove the volume's place in the pod. Raises OSError when something is left in it."""
    with suppress(FileNotFoundError, NotADirectoryError):
        places.rmdir(f"{directory}/mount")
    places.forget(directory)
