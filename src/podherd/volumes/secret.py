"""secret: the keys of a Secret as files on a tmpfs (kubelet behaviour, section 13.3)."""

from podherd.model.pod import Body
from podherd.volumes import content, directory, keyed
from podherd.volumes.ready import Ready, Site


def prepare(site: Site, name: str, source: Body) -> Ready:
    """The volume of a v1.SecretVolumeSource, as the object stands now. Raises VolumeError."""
    files = keyed.files_of(site, keyed.SECRET, source.get("secretName") or "", source, source["defaultMode"])
    return content.place(site, directory.SECRET, name, files)
