"""Every kind of volume that can be given to a pod, by its field in v1.Volume. A new kind is a file and a line here."""

from collections.abc import Callable

from podherd.model.pod import Body, Pod
from podherd.volumes import empty_dir, host_path
from podherd.volumes.errors import VolumeError

Prepare = Callable[[Pod, str, Body, str], str]
"""Pod, volume name, the kind's own source, the pod's directory -> the host path. Idempotent; raises VolumeError."""

KINDS: dict[str, Prepare] = {
    "emptyDir": empty_dir.prepare,
    "hostPath": lambda _pod, _name, source, _pod_dir: host_path.prepare(source),
}


def kind_of(volume: Body) -> str:
    """The field that says what a v1.Volume is; a volume that says nothing is an emptyDir (API default)."""
    return next((field for field, source in volume.items() if field != "name" and source is not None), "emptyDir")


def prepare(pod: Pod, volume: Body, pod_dir: str) -> str:
    """Make one volume ready; its path on the host. Raises VolumeError, also for a kind that is not here."""
    kind, name = kind_of(volume), str(volume["name"])
    if (make := KINDS.get(kind)) is None:
        kinds = ", ".join(sorted(KINDS))
        raise VolumeError(f'volume "{name}"', f"kind {kind} is not supported", f"use one of {kinds}")
    return make(pod, name, volume.get(kind) or {}, pod_dir)


def may_block(volume: Body) -> bool:
    """Whether preparing it looks at a path that may hang, such as a dead network mount; then it belongs in a thread."""
    return kind_of(volume) == "hostPath" and bool((volume.get("hostPath") or {}).get("type"))
