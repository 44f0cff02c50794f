"""A CSI volume as a pod wants it: behind a claim, or inline (kubelet behaviour, section 13.7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from podherd.machines.objects import references
from podherd.machines.objects.references import attached_as
from podherd.model.pod import Body, Pod
from podherd.volumes.claim import Bound
from podherd.volumes.errors import VolumeError
from podherd.wire.objects import Ref

READ_WRITE_ONCE = "ReadWriteOnce"


@dataclass(frozen=True, slots=True)
class CsiVolume:
    """name: of the PersistentVolume, or of an inline volume in its pod. handle: how the driver knows it.

    ephemeral: inline; made by being published, gone with its pod, never staged.
    """

    name: str
    driver: str
    handle: str
    ephemeral: bool = False
    read_only: bool = False
    fs_type: str = ""
    attributes: Mapping[str, str] | None = None
    access_modes: tuple[str, ...] = ()
    mount_options: tuple[str, ...] = ()
    stage_secret: Ref | None = None
    publish_secret: Ref | None = None

    @property
    def attached_as(self) -> str:
        """Its name in the node's status, volumesInUse and volumesAttached."""
        return attached_as(self.driver, self.handle)

    @property
    def access_mode(self) -> str:
        """The one that the driver is told: the first that the volume has."""
        return self.access_modes[0] if self.access_modes else READ_WRITE_ONCE


def of_claim(found: Bound) -> CsiVolume:
    """The volume of a claim. Raises VolumeError for one without driver or handle."""
    spec, source = found.spec, found.spec["csi"]
    return CsiVolume(
        found.name,
        _word(found.name, "driver", source.get("driver")),
        _word(found.name, "volumeHandle", source.get("volumeHandle")),
        read_only=found.read_only,
        fs_type=source.get("fsType") or "",
        attributes=source.get("volumeAttributes"),
        access_modes=tuple(spec.get("accessModes") or ()),
        mount_options=tuple(spec.get("mountOptions") or ()),
        stage_secret=_secret(source.get("nodeStageSecretRef")),
        publish_secret=_secret(source.get("nodePublishSecretRef")),
    )


def of_pod(pod: Pod, volume: Body) -> CsiVolume:
    """An inline `csi` volume; its handle is made of the pod's uid and its name. Raises VolumeError."""
    source, name = volume["csi"], volume["name"]
    secret = (source.get("nodePublishSecretRef") or {}).get("name")
    return CsiVolume(
        name,
        _word(name, "driver", source.get("driver")),
        f"csi-{sha256(f'{pod.uid}{name}'.encode()).hexdigest()}",
        ephemeral=True,
        read_only=bool(source.get("readOnly")),
        fs_type=source.get("fsType") or "",
        attributes=source.get("volumeAttributes"),
        publish_secret=references.secret(pod, secret) if secret else None,
    )


def _secret(reference: Mapping[str, Any] | None) -> Ref | None:
    return Ref("Secret", reference.get("namespace") or "", reference.get("name") or "") if reference else None


def _word(name: str, field: str, value: object) -> str:
    """The driver's name becomes a part of a path."""
    text = str(value or "")
    if not text or "\0" in text or (field == "driver" and ("/" in text or text in (".", ".."))):
        raise VolumeError(f'volume "{name}"', f"csi.{field} {text!r:.80} cannot be used")
    return text
