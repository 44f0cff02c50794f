"""Volumes: names, exactly one source, and the kinds that need no API server; those made of files stand beside."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from podherd.model.problem import Problem, duplicate, invalid, required, unsupported_value
from podherd.model.validate.containers import PULL_POLICIES
from podherd.model.validate.mounts import backstep_problems
from podherd.model.validate.names import dns_label
from podherd.model.validate.resources import amount_problems
from podherd.model.validate.volume_files import downward_problems, projected_problems

HOST_PATH_TYPES = (
    "", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice",
)  # fmt: skip


def volume_problems(volumes: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """What is wrong with `spec.volumes`."""
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        path, name = f"spec.volumes[{index}]", volume["name"]
        if not name:
            yield required(f"{path}.name")
        elif why := dns_label(name):
            yield invalid(f"{path}.name", name, why)
        elif name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        yield from _source(path, volume)


def _source(path: str, volume: Mapping[str, Any]) -> Iterator[Problem]:
    kinds = [field for field in volume if field != "name"]
    for extra in kinds[1:]:
        yield Problem(f"{path}.{extra}", "Forbidden: may not specify more than 1 volume type")
    for kind, check in _CHECKS.items():
        if (source := volume.get(kind)) is not None:
            yield from check(f"{path}.{kind}", source)


def _empty_dir(path: str, source: Mapping[str, Any]) -> Iterator[Problem]:
    if "sizeLimit" in source:
        yield from amount_problems(f"{path}.sizeLimit", "memory", source["sizeLimit"])
    medium = source.get("medium", "")
    if medium not in ("", "Memory") and not medium.startswith("HugePages"):
        yield from unsupported_value(f"{path}.medium", medium, ("", "Memory", "HugePages"))


def _host_path(path: str, source: Mapping[str, Any]) -> Iterator[Problem]:
    if not source["path"]:
        yield required(f"{path}.path")
    yield from backstep_problems(f"{path}.path", source["path"])
    yield from unsupported_value(f"{path}.type", source["type"], HOST_PATH_TYPES)


def _image(path: str, source: Mapping[str, Any]) -> Iterator[Problem]:
    if not source.get("reference"):
        yield required(f"{path}.reference")
    yield from unsupported_value(f"{path}.pullPolicy", source["pullPolicy"], PULL_POLICIES)


_CHECKS: Mapping[str, Callable[[str, Mapping[str, Any]], Iterator[Problem]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "downwardAPI": downward_problems,
    "projected": projected_problems,
    "image": _image,
}
