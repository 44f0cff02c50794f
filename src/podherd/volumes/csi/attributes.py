"""What a driver is told about a volume beside its name (kubelet behaviour, section 13.7)."""

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from podherd.machines.objects import references
from podherd.model.pod import Pod
from podherd.volumes.csi.client import SINGLE_NODE_MULTI_WRITER, VOLUME_MOUNT_GROUP
from podherd.volumes.csi.desk import Desk, Rules
from podherd.volumes.csi.volume import CsiVolume
from podherd.volumes.errors import VolumeError
from podherd.wire.objects import Ref

_MODES = {"ReadWriteOnce": 1, "ReadOnlyMany": 3, "ReadWriteMany": 5, "ReadWriteOncePod": 1}
_WRITERS_MODES = {**_MODES, "ReadWriteOnce": 7, "ReadWriteOncePod": 6}
"""For a driver that tells one writer on a node from many (SINGLE_NODE_MULTI_WRITER)."""


def capability(volume: CsiVolume, can: frozenset[int], group: int | None) -> dict[str, Any]:
    """The VolumeCapability. The group goes to a driver that applies it itself (VOLUME_MOUNT_GROUP)."""
    modes = _WRITERS_MODES if SINGLE_NODE_MULTI_WRITER in can else _MODES
    mount: dict[str, Any] = {"fs_type": volume.fs_type, "mount_flags": list(volume.mount_options)}
    if group is not None and VOLUME_MOUNT_GROUP in can:
        mount["volume_mount_group"] = str(group)
    return {"mount": mount, "access_mode": {"mode": modes.get(volume.access_mode, 0)}}


def secrets(desk: Desk, ref: Ref | None, field: str) -> dict[str, str]:
    """The values of a Secret; none without a reference. Raises VolumeError while it cannot be had."""
    if ref is None:
        return {}
    found = desk.look(ref)
    if found.body is None:
        text = f"fetching {field} {ref.namespace}/{ref.name} failed: {found.problem}"
        raise VolumeError(f"secret {ref.namespace}/{ref.name}", found.problem, words=text)
    return {key: _text(value) for key, value in (found.mapping.get("data") or {}).items()}


def _text(value: str | bytes) -> str:
    plain = value if isinstance(value, bytes) else b64decode(value)
    return plain.decode(errors="replace")


def publish_context(desk: Desk, rules: Rules, volume: CsiVolume) -> dict[str, str]:
    """What the attach told: metadata of the VolumeAttachment. Raises VolumeError while that cannot be had.

    One that is known as not attached yet is old: the node's status says that it is.
    """
    if volume.ephemeral or not rules.attach_first or not desk.waits_for_attach:
        return {}
    ref = references.attachment(volume.driver, volume.handle, desk.node)
    found = desk.look(ref)
    if found.body is None:
        raise VolumeError(f"VolumeAttachment {ref.name}", found.problem, words=found.problem)
    status = found.mapping.get("status") or {}
    if not status.get("attached"):
        why = f"volume attachment {ref.name} is not attached"
        raise VolumeError(f"VolumeAttachment {ref.name}", why, words=why, waits=True)
    return dict(status.get("attachmentMetadata") or {})


def pod_attributes(pod: Pod, rules: Rules, volume: CsiVolume) -> dict[str, str]:
    """Who the pod is, for a driver that asks for it (podInfoOnMount)."""
    if not rules.spec.get("podInfoOnMount"):
        return {}
    account = pod.body["spec"].get("serviceAccountName") or ""
    told = {"pod.name": pod.name, "pod.namespace": pod.namespace, "pod.uid": pod.uid, "serviceAccount.name": account}
    told["ephemeral"] = "true" if volume.ephemeral else "false"
    return {f"csi.storage.k8s.io/{key}": value for key, value in told.items()}


def tokens(desk: Desk, pod: Pod, rules: Rules) -> dict[str, str]:
    """The pod's service account tokens that the driver asks for. Raises VolumeError while one cannot be had."""
    requests = rules.spec.get("tokenRequests") or ()
    made: dict[str, Mapping[str, Any]] = {}
    for request in requests:
        found = desk.look(references.token(pod, request))
        if found.body is None:
            raise VolumeError("service account token", found.problem)
        made[request.get("audience") or ""] = found.mapping
    return {"csi.storage.k8s.io/serviceAccount.tokens": json.dumps(made)} if made else {}
