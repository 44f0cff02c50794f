"""Volumes of files that tell of the pod: downwardAPI and projected."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, required
from podherd.model.validate.mounts import inner_path_problems
from podherd.model.validate.names import qualified_name
from podherd.model.validate.resource_fields import resource_field_problems

_FIELDS = ("metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]\Z")
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def downward_problems(path: str, source: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a v1.DownwardAPIVolumeSource."""
    yield from _mode(f"{path}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items", ())):
        yield from _item(f"{path}.items[{index}]", item)


def projected_problems(path: str, source: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a v1.ProjectedVolumeSource; of the kinds of sources, the one that a static pod may have."""
    yield from _mode(f"{path}.defaultMode", source.get("defaultMode"))
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources", ())):
        here = f"{path}.sources[{index}]"
        for extra in list(part)[1:]:
            yield Problem(f"{here}.{extra}", "Forbidden: may not specify more than 1 volume type per source")
        if (downward := part.get("downwardAPI")) is not None:
            yield from downward_problems(f"{here}.downwardAPI", downward)
            yield from _clashes(f"{here}.downwardAPI", downward, taken)


def _clashes(path: str, source: Mapping[str, Any], taken: set[str]) -> Iterator[Problem]:
    for index, item in enumerate(source.get("items", ())):
        if item["path"] in taken:
            yield invalid(f"{path}.items[{index}].path", item["path"], "conflicting duplicate paths")
        taken.add(item["path"])


def _item(path: str, item: Mapping[str, Any]) -> Iterator[Problem]:
    if not item["path"]:
        yield required(f"{path}.path")
    yield from inner_path_problems(f"{path}.path", item["path"])
    if item["path"].startswith("..") and not item["path"].startswith("../"):
        yield invalid(f"{path}.path", item["path"], "must not start with '..'")
    yield from _mode(f"{path}.mode", item.get("mode"))
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from _field(f"{path}.fieldRef", field)
        if resource is not None:
            yield invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif resource is not None:
        if not resource.get("containerName"):
            yield required(f"{path}.resourceFieldRef.containerName")
        yield from resource_field_problems(f"{path}.resourceFieldRef", resource)
    else:
        yield Problem(path, "Required value: one of fieldRef and resourceFieldRef is required")


def _field(path: str, field: Mapping[str, Any]) -> Iterator[Problem]:
    if field["apiVersion"] != "v1":
        yield invalid(f"{path}.apiVersion", field["apiVersion"], "only `v1` is known")
    wanted = field["fieldPath"]
    if not wanted:
        yield required(f"{path}.fieldPath")
    elif found := _SUBSCRIPT.match(wanted):
        key = found[2] if found[1] == "labels" else found[2].lower()
        if why := qualified_name(key):
            yield invalid(f"{path}.fieldPath", wanted, why)
    elif wanted not in _FIELDS:
        listed = ", ".join(_FIELDS)
        yield Problem(f"{path}.fieldPath", f'Unsupported value: "{wanted}"; supported: {listed}, '
                      "metadata.labels['<KEY>'], metadata.annotations['<KEY>']")  # fmt: skip


def _mode(path: str, mode: int | None) -> Iterator[Problem]:
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(path, mode, _MODE)
