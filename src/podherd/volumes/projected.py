"""projected: several sources in one volume (kubelet behaviour, section 13.3).

Of its sources only downwardAPI can be followed without an API server. The kubelet refuses the whole kind where it has
no API client, even for such a volume ("because kube client is not configured"); podherd writes it, since nothing in it
needs one. Other sources are refused when the manifest is read.
"""

from podherd.model.pod import Body
from podherd.volumes import content, directory, downward
from podherd.volumes.atomic import File
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Ready, Site


def prepare(site: Site, name: str, source: Body) -> Ready:
    """The volume of a v1.ProjectedVolumeSource; nothing is written when any source fails. Raises VolumeError."""
    files: dict[str, File] = {}
    failed: list[str] = []
    for part in source.get("sources") or ():
        try:
            files.update(_files_of(site, part, source["defaultMode"]))
        except VolumeError as error:
            failed.append(error.words)
    if failed:
        raise VolumeError(f"volume {name}", "; ".join(failed))
    return content.place(site, directory.PROJECTED, name, files)


def _files_of(site: Site, part: Body, default_mode: int) -> dict[str, File]:
    for kind, source in part.items():
        if kind != "downwardAPI":
            raise VolumeError(f"source {kind}", "needs an API server to read from")
        return downward.files_of(site, source, default_mode)
    return {}
