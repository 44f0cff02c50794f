"""What publishing must know of the node and of the API's objects, handed in by whoever calls."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from podherd.machines.objects import references
from podherd.machines.objects.found import Lookup
from podherd.volumes.csi.volume import CsiVolume
from podherd.volumes.errors import VolumeError

ATTACH_FIRST = True
"""A driver without a CSIDriver object, or without `attachRequired` in it, has its volumes attached first."""


@dataclass(frozen=True, slots=True)
class Desk:
    """root: the agent's root directory. node: its name. sockets: path by driver. look: answers at once.

    attached, in_use: `status.volumesAttached[].name` and `status.volumesInUse` of the node, as the API server has them.
    waits_for_attach: whether a controller attaches volumes.
    """

    root: str
    node: str
    sockets: Mapping[str, str]
    look: Lookup
    attached: Collection[str] = ()
    waits_for_attach: bool = True
    in_use: Collection[str] = ()

    def socket(self, driver: str, who: str) -> str:
        """Where the driver listens; who: the kubelet's words for what wants it. Raises VolumeError."""
        if (path := self.sockets.get(driver)) is not None:
            return path
        words = f"kubernetes.io/csi: {who}: driver name {driver} not found in the list of registered CSI drivers"
        raise VolumeError(f"CSI driver {driver}", "is not registered on this node", "install its node plugin", words)


@dataclass(frozen=True, slots=True)
class Rules:
    """What the driver's CSIDriver object asks for; all defaults where it has none."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    known: bool = True

    @property
    def attach_first(self) -> bool:
        """Whether a volume must be attached to the node before it is mounted."""
        required = self.spec.get("attachRequired")
        return ATTACH_FIRST if required is None else bool(required)

    @property
    def republish(self) -> bool:
        """Whether NodePublishVolume is to be called again and again (`requiresRepublish`)."""
        return bool(self.spec.get("requiresRepublish"))

    @property
    def group_policy(self) -> str:
        """`fsGroupPolicy`."""
        return self.spec.get("fsGroupPolicy") or "ReadWriteOnceWithFSType"

    def check_lifecycle(self, volume: CsiVolume) -> None:
        """Raises VolumeError when the driver does not serve this kind of volume."""
        mode = "Ephemeral" if volume.ephemeral else "Persistent"
        if not self.known:
            if not volume.ephemeral:
                return
            why = f'volume mode "{mode}" not supported by driver {volume.driver} (no CSIDriver object)'
        elif mode in (modes := self.spec.get("volumeLifecycleModes") or ["Persistent"]):
            return
        else:
            listed = " ".join(f'"{each}"' for each in modes)
            why = f'volume mode "{mode}" not supported by driver {volume.driver} (only supports [{listed}])'
        words = f"kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: {why}"
        raise VolumeError(f'volume "{volume.name}"', why, "use a driver that can", words)


def rules_of(desk: Desk, driver: str) -> Rules:
    """From the driver's CSIDriver object. Raises VolumeError while it is not known whether there is one."""
    found = desk.look(references.csi_driver(driver))
    if found.body is None and not found.missing:
        raise VolumeError(f"CSIDriver {driver}", found.problem)
    return Rules(found.mapping.get("spec") or {}, found.body is not None)


def check_attached(desk: Desk, rules: Rules, volume: CsiVolume) -> None:
    """Raises VolumeError until the node's status says that the volume is in use, which keeps it from being detached
    under the pod, and that it is attached.
    """
    if volume.ephemeral or not rules.attach_first or not desk.waits_for_attach:
        return
    name = volume.attached_as
    if name in desk.in_use and name in desk.attached:
        return
    text = f'Volume not attached according to node status for volume "{volume.name}"'
    if name not in desk.in_use:
        told = "Volume has not been added to the list of VolumesInUse in the node's volume status"
        text = f'{told} for volume "{volume.name}"'
    raise VolumeError(f'volume "{volume.name}"', "is not attached to the node yet", words=text, waits=True)
