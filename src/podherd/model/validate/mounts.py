"""Where volumes appear in a container."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from podherd.model.problem import Problem, invalid, required, unsupported_value

PROPAGATIONS = ("None", "HostToContainer", "Bidirectional")
RECURSIVE_READ_ONLY = ("Disabled", "IfPossible", "Enabled")
Mounts = Sequence[Mapping[str, Any]]


def mount_problems(path: str, mounts: Mounts, volumes: set[str], security: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with `volumeMounts`; `volumes` are the names that the pod declares."""
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        here = f"{path}.volumeMounts[{index}]"
        if not mount["name"]:
            yield required(f"{here}.name")
        elif mount["name"] not in volumes:
            yield Problem(f"{here}.name", f'Not found: "{mount["name"]}"', "declare it under spec.volumes")
        if not (where := mount["mountPath"]):
            yield required(f"{here}.mountPath")
        elif where in paths:
            yield invalid(f"{here}.mountPath", where, "must be unique")
        paths.add(where)
        yield from _details(here, mount, security)


def _details(path: str, mount: Mapping[str, Any], security: Mapping[str, Any]) -> Iterator[Problem]:
    if (propagation := mount.get("mountPropagation")) is not None:
        yield from unsupported_value(f"{path}.mountPropagation", propagation, PROPAGATIONS)
        if propagation == "Bidirectional" and not security.get("privileged"):
            reason = "Forbidden: Bidirectional mount propagation is available only to privileged containers"
            yield Problem(f"{path}.mountPropagation", reason)
    if mount.get("subPath") and mount.get("subPathExpr"):
        yield invalid(f"{path}.subPathExpr", mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive")
    for field in ("subPath", "subPathExpr"):
        if inner := mount.get(field):
            yield from inner_path_problems(f"{path}.{field}", inner)
    yield from _recursive(f"{path}.recursiveReadOnly", mount)


def _recursive(path: str, mount: Mapping[str, Any]) -> Iterator[Problem]:
    """KEP-3857."""
    if (wanted := mount.get("recursiveReadOnly")) is None:
        return
    yield from unsupported_value(path, wanted, RECURSIVE_READ_ONLY)
    if wanted != "Disabled" and not mount.get("readOnly"):
        yield Problem(path, "Forbidden: may only be specified when readOnly is true")
    if wanted != "Disabled" and mount.get("mountPropagation", "None") != "None":
        yield Problem(path, "Forbidden: may only be specified when mountPropagation is None or not specified")


def inner_path_problems(path: str, value: str) -> Iterator[Problem]:
    """A path inside a volume must stay inside it."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from backstep_problems(path, value)


def backstep_problems(path: str, value: str) -> Iterator[Problem]:
    """No step of a path may be `..`."""
    if ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")
