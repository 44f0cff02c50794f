"""downwardAPI: fields of the pod and resources of its containers as files (kubelet behaviour, section 13.3)."""

from podherd.cri.convert.downward import field_value, resource_value
from podherd.errors import PodherdError
from podherd.model.pod import Body
from podherd.volumes import content, directory
from podherd.volumes.atomic import File
from podherd.volumes.errors import VolumeError
from podherd.volumes.quote import lines_of
from podherd.volumes.ready import Ready, Site


def prepare(site: Site, name: str, source: Body) -> Ready:
    """The volume of a v1.DownwardAPIVolumeSource, as the pod stands now. Raises VolumeError."""
    return content.place(site, directory.DOWNWARD, name, files_of(site, source, source["defaultMode"]))


def files_of(site: Site, source: Body, default_mode: int) -> dict[str, File]:
    """The files of a source or projection. Raises VolumeError for a reference that cannot be followed."""
    return {item["path"]: _file(site, item, default_mode) for item in source.get("items") or ()}


def _file(site: Site, item: Body, default_mode: int) -> File:
    mode = item.get("mode")
    try:
        text = _text(site, item)
    except PodherdError as error:
        raise VolumeError(f"path {item['path']}", str(error)) from error
    return File(text.encode(), default_mode if mode is None else mode)


def _text(site: Site, item: Body) -> str:
    pod = site.pod
    if reference := item.get("resourceFieldRef"):
        return resource_value(pod, pod.containers[0], reference, site.host)
    path = item["fieldRef"]["fieldPath"]
    if path == "metadata.labels":
        return lines_of(pod.labels)
    if path == "metadata.annotations":
        return lines_of(pod.annotations)
    return field_value(pod, path, site.host, ())
