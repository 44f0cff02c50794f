"""Every kind of volume that can be given to a pod, by its field in v1.Volume. A new kind is a file and a line here."""

from collections.abc import Callable

from podherd.model.pod import Body
from podherd.volumes import config_map, downward, empty_dir, host_path, image, projected, secret
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Ready, Site

Prepare = Callable[[Site, str, Body], Ready]
"""Where, volume name, the kind's own source -> what containers mount. Idempotent; raises VolumeError."""

KINDS: dict[str, Prepare] = {
    "emptyDir": empty_dir.prepare,
    "hostPath": host_path.prepare,
    "downwardAPI": downward.prepare,
    "projected": projected.prepare,
    "image": image.prepare,
    "configMap": config_map.prepare,
    "secret": secret.prepare,
}
_CONTENT = frozenset({"downwardAPI", "projected", "configMap", "secret"})


def kind_of(volume: Body) -> str:
    """The field that says what a v1.Volume is; a volume that says nothing is an emptyDir (API default)."""
    return next((field for field, source in volume.items() if field != "name" and source is not None), "emptyDir")


def prepare(site: Site, volume: Body) -> Ready:
    """Make one volume ready, its files as the pod stands now. Raises VolumeError, also for a kind that is not here."""
    kind, name = kind_of(volume), str(volume["name"])
    if (make := KINDS.get(kind)) is None:
        kinds = ", ".join(sorted(KINDS))
        raise VolumeError(f'volume "{name}"', f"kind {kind} is not supported", f"use one of {kinds}")
    return make(site, name, volume.get(kind) or {})


def is_content(volume: Body) -> bool:
    """Whether its files tell of something that changes, so that they are written anew while containers run."""
    return kind_of(volume) in _CONTENT


def may_block(volume: Body) -> bool:
    """Whether preparing it looks at a path that may hang, such as a dead network mount; then it belongs in a thread."""
    return kind_of(volume) == "hostPath" and bool((volume.get("hostPath") or {}).get("type"))
