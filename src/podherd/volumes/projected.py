"""projected: several sources in one volume (kubelet behaviour, section 13.3).

The kubelet refuses the whole kind where it has no API client, even for a volume of downwardAPI alone ("because kube
client is not configured"); podherd writes that, since nothing in it needs one.
"""

from collections.abc import Callable

from podherd.machines.objects import references
from podherd.model.pod import Body
from podherd.volumes import content, directory, downward, keyed, trust
from podherd.volumes.atomic import File
from podherd.volumes.errors import VolumeError
from podherd.volumes.private import private_mode, private_user
from podherd.volumes.ready import Ready, Site
from podherd.wire.objects import Ref


def prepare(site: Site, name: str, source: Body) -> Ready:
    """The volume of a v1.ProjectedVolumeSource; nothing is written when any source fails. Raises VolumeError."""
    files: dict[str, File] = {}
    failed: list[str] = []
    for index, part in enumerate(source.get("sources") or ()):
        try:
            files.update(_files_of(site, name, index, part, source["defaultMode"]))
        except VolumeError as error:
            failed.append(error.words)
    if failed:
        words = aggregate(failed)
        raise VolumeError(f"volume {name}", words, words=words)
    return content.place(site, directory.PROJECTED, name, files)


def aggregate(words: list[str]) -> str:
    """Several errors as the kubelet writes them: each once, in brackets when they are more than one."""
    each = list(dict.fromkeys(words))
    return each[0] if len(each) == 1 else f"[{', '.join(each)}]"


def _files_of(site: Site, volume: str, index: int, part: Body, default_mode: int) -> dict[str, File]:
    for kind, source in part.items():
        if kind == "podCertificate":
            return _certificate(site, references.certificate(site.pod, volume, index, source), source, default_mode)
        if (make := _SOURCES.get(kind)) is None:
            raise VolumeError(f"source {kind}", "is not supported", "leave it out of the projected volume")
        return make(site, source, default_mode)
    return {}


def _config_map(site: Site, source: Body, default_mode: int) -> dict[str, File]:
    return keyed.files_of(site, keyed.CONFIG_MAP, source.get("name") or "", source, default_mode)


def _secret(site: Site, source: Body, default_mode: int) -> dict[str, File]:
    return keyed.files_of(site, keyed.SECRET, source.get("name") or "", source, default_mode)


def _token(site: Site, source: Body, default_mode: int) -> dict[str, File]:
    found = site.look(references.token(site.pod, source))
    if found.body is None:
        raise VolumeError("source serviceAccountToken", found.problem, words=found.problem)
    text = str(found.mapping.get("token") or "")
    return {source["path"]: File(text.encode(), private_mode(site, default_mode), private_user(site.pod))}


def _trust(site: Site, source: Body, default_mode: int) -> dict[str, File]:
    bundle = trust.anchors(site, source)
    return {source["path"]: File(bundle, private_mode(site, default_mode), private_user(site.pod))}


def _certificate(site: Site, ref: Ref, source: Body, default_mode: int) -> dict[str, File]:
    found = site.look(ref)
    if found.body is None:
        raise VolumeError("source podCertificate", found.problem, words=found.problem)
    key, chain = str(found.mapping.get("key") or ""), str(found.mapping.get("chain") or "")
    texts = {"credentialBundlePath": key + chain, "keyPath": key, "certificateChainPath": chain}
    mode, user = private_mode(site, default_mode), private_user(site.pod)
    return {source[field]: File(text.encode(), mode, user) for field, text in texts.items() if source.get(field)}


_SOURCES: dict[str, Callable[[Site, Body, int], dict[str, File]]] = {
    "downwardAPI": downward.files_of,
    "configMap": _config_map,
    "secret": _secret,
    "serviceAccountToken": _token,
    "clusterTrustBundle": _trust,
}
