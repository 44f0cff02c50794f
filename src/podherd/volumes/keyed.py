"""The keys of a ConfigMap or Secret as files (kubelet behaviour, section 13.3)."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass

from podherd.model.pod import Body
from podherd.volumes.atomic import File
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Site
from podherd.wire.objects import Ref


@dataclass(frozen=True, slots=True)
class Keyed:
    """One of the two kinds. text, binary: the fields that hold values, the second as base64; lacks: of a key."""

    kind: str
    text: str
    binary: str
    lacks: str


CONFIG_MAP = Keyed("ConfigMap", "data", "binaryData", "configmap references non-existent config key: {}")
SECRET = Keyed("Secret", "", "data", "references non-existent secret key: {}")


def files_of(site: Site, kind: Keyed, name: str, source: Body, default_mode: int) -> dict[str, File]:
    """The files that a source or projection asks for: every key, or its items under their paths.

    Where it is optional, a missing object or key makes no file. Raises VolumeError with the kubelet's words.
    """
    optional = bool(source.get("optional"))
    contents = _contents(site, kind, name, optional)
    if not (items := source.get("items")):
        return {key: File(contents[key], default_mode) for key in sorted(contents)}
    files: dict[str, File] = {}
    for item in items:
        key, mode = item["key"], item.get("mode")
        if key in contents:
            files[item["path"]] = File(contents[key], default_mode if mode is None else mode)
        elif not optional:
            raise _lacking(kind.lacks.format(key), f"{kind.kind} {name}")
    return files


def _contents(site: Site, kind: Keyed, name: str, optional: bool) -> Mapping[str, bytes]:
    found = site.look(Ref(kind.kind, site.pod.namespace, name))
    if found.body is None:
        if found.missing and optional:
            return {}
        raise _lacking(found.problem, f"{kind.kind} {name}")
    text: Mapping[str, str] = found.mapping.get(kind.text) or {}
    binary: Mapping[str, str] = found.mapping.get(kind.binary) or {}
    return {
        **{key: b64decode(value) for key, value in binary.items()},
        **{key: value.encode() for key, value in text.items()},
    }


def _lacking(words: str, thing: str) -> VolumeError:
    return VolumeError(thing, words, words=words)
