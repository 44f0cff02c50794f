"""Volumes behind claims and CSI drivers, as a sync gets them and gives them back (kubelet behaviour, section 13.7)."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from podherd.model.pod import Body
from podherd.steps.context import Context
from podherd.steps.objects import lookup
from podherd.volumes import claim, fs_group, local
from podherd.volumes.csi.desk import Desk, rules_of
from podherd.volumes.csi.publish import publish, unpublish
from podherd.volumes.csi.volume import CsiVolume, of_claim, of_pod
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Ready, Site
from podherd.volumes.registry import kind_of
from podherd.volumes.removal import unmount_own

SLOW_S = 30.0
"""A change of ownership that takes longer is told of, and again every `AGAIN_S`."""
AGAIN_S = 60.0
_SLOW = (
    "is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/"
    "configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods"
)


def concerns(volume: Body) -> bool:
    """Whether a v1.Volume is one of these."""
    return kind_of(volume) in (*claim.KINDS, "csi")


async def prepare(context: Context, site: Site, volume: Body) -> Ready:
    """The volume, for containers to mount. Idempotent. Raises VolumeError, whose `said` names the PersistentVolume."""
    if kind_of(volume) == "csi":
        return await _publish(context, site, of_pod(site.pod, volume))
    found = claim.bound(site.pod, volume, site.look)
    _check_node(context, found)
    try:
        if found.spec.get("csi"):
            return await _publish(context, site, of_claim(found))
        if not (found.spec.get("local") or found.spec.get("hostPath")):
            raise VolumeError(f'volume "{found.name}"', "is of no kind that is supported", "use CSI, local or hostPath")
        with _told_of(context, found.name) as progress:
            return await context.in_thread(local.prepare, site, found, _warn(context), progress)
    except VolumeError as error:
        said = error.said or f'MountVolume.SetUp failed for volume "{found.name}" : {error.words}'
        raise VolumeError(error.thing, error.reason, error.mend, error.words, said, waits=error.waits) from error


def republishes(context: Context, volume: Body) -> bool:
    """Whether its driver wants to publish it again and again (`requiresRepublish`)."""
    try:
        if kind_of(volume) == "csi":
            driver = of_pod(context.pod, volume).driver
        elif (found := claim.bound(context.pod, volume, lookup(context))).spec.get("csi"):
            driver = of_claim(found).driver
        else:
            return False
        return rules_of(desk(context), driver).republish
    except VolumeError:
        return False


async def release(context: Context) -> None:
    """Have drivers take away what the pod has of them; parts of it that are mounted elsewhere go first.

    Raises VolumeError.
    """
    await context.in_thread(unmount_own, context.pod_dir)
    await unpublish(context.pod_dir, desk(context), context.in_thread)


def desk(context: Context) -> Desk:
    """What CSI must know; before the node actor's first word no driver is registered and nothing attached."""
    settings, node = context.settings, context.tools.node
    return Desk(
        str(settings.root_dir),
        settings.node_name,
        node.csi_sockets if node is not None else {},
        lookup(context),
        node.volumes_attached if node is not None else (),
        settings.controller_attach_detach,
        node.volumes_in_use if node is not None else (),
    )


def _check_node(context: Context, found: claim.Bound) -> None:
    node = context.tools.node
    claim.check_node(found, node.labels if node is not None else {}, context.settings.node_name)


async def _publish(context: Context, site: Site, volume: CsiVolume) -> Ready:
    with _told_of(context, volume.name) as progress:
        return await publish(site, volume, desk(context), context.in_thread, progress)


def _warn(context: Context) -> local.Warn:
    """Called in a thread; events are the loop's to record."""
    loop = asyncio.get_running_loop()

    def warn(reason: str, message: str) -> None:
        loop.call_soon_threadsafe(context.warn, reason, message)

    return warn


@contextmanager
def _told_of(context: Context, volume: str) -> Iterator[fs_group.Progress]:
    """Tell of a change of ownership that takes long, for as long as it does."""
    slow = _Slow(context, f"Setting volume ownership for {context.sync.uid}/volumes/{volume}")
    try:
        yield slow.progress
    finally:
        slow.timer.cancel()


class _Slow:
    """Looks at the progress from time to time; as long as no file was seen, something else is slow."""

    def __init__(self, context: Context, what: str) -> None:
        self.progress = fs_group.Progress()
        self._context = context
        self._what = what
        self._loop = asyncio.get_running_loop()
        self.timer = self._loop.call_later(SLOW_S, self._tell, f"{what} {_SLOW}")

    def _tell(self, message: str) -> None:
        if not self.progress.files:
            self.timer = self._loop.call_later(SLOW_S, self._tell, message)
            return
        self._context.warn("VolumePermissionChangeInProgress", message)
        self.timer = self._loop.call_later(AGAIN_S, self._again)

    def _again(self) -> None:
        self._tell(f"{self._what}, processed {self.progress.files} files.")
