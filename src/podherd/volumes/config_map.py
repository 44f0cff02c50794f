"""configMap: the keys of a ConfigMap as files on disk (kubelet behaviour, section 13.3)."""

from podherd.model.pod import Body
from podherd.volumes import content, directory, keyed
from podherd.volumes.ready import Ready, Site


def prepare(site: Site, name: str, source: Body) -> Ready:
    """The volume of a v1.ConfigMapVolumeSource, as the object stands now. Raises VolumeError."""
    files = keyed.files_of(site, keyed.CONFIG_MAP, source.get("name") or "", source, source["defaultMode"])
    return content.place(site, directory.CONFIG_MAP, name, files, in_memory=False)
