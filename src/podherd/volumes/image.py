"""image: the files of an OCI image, which the runtime mounts read-only (KEP-4639; kubelet behaviour, section 13.3)."""

from podherd.model.pod import Body
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Ready, Site


def prepare(_site: Site, name: str, source: Body) -> Ready:
    """What to mount; it is pulled when a container that mounts it starts. Raises VolumeError."""
    if not (reference := source.get("reference")):
        raise VolumeError(f"volume {name}", "image.reference is empty", "name an image")
    return Ready("", read_only=True, image=reference, pull_policy=source["pullPolicy"])
