"""Volumes: names, exactly one source, and the two kinds that need no library of their own."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podherd.model.problem import Problem, duplicate, invalid, required, unsupported_value
from podherd.model.validate.mounts import backstep_problems
from podherd.model.validate.names import dns_label
from podherd.model.validate.resources import amount_problems

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
    if (empty := volume.get("emptyDir")) is not None:
        if "sizeLimit" in empty:
            yield from amount_problems(f"{path}.emptyDir.sizeLimit", "memory", empty["sizeLimit"])
        medium = empty.get("medium", "")
        if medium not in ("", "Memory") and not medium.startswith("HugePages"):
            yield from unsupported_value(f"{path}.emptyDir.medium", medium, ("", "Memory", "HugePages"))
    if (host := volume.get("hostPath")) is not None:
        if not host["path"]:
            yield required(f"{path}.hostPath.path")
        yield from backstep_problems(f"{path}.hostPath.path", host["path"])
        yield from unsupported_value(f"{path}.hostPath.type", host["type"], HOST_PATH_TYPES)
