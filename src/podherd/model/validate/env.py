"""Environment variables and where their values may come from."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, required
from podherd.model.validate.names import env_name

_FIELDS = frozenset({
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
})  # fmt: skip
_SUBSCRIPT = re.compile(r"metadata\.(?:labels|annotations)\['[^']+'\]\Z")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def env_problems(path: str, container: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with `env` and `envFrom` of one container."""
    for index, variable in enumerate(container.get("env", ())):
        here = f"{path}.env[{index}]"
        if not variable["name"]:
            yield required(f"{here}.name")
        elif why := env_name(variable["name"]):
            yield invalid(f"{here}.name", variable["name"], why)
        if "valueFrom" in variable:
            yield from _value_from(f"{here}.valueFrom", variable)
    for index, source in enumerate(container.get("envFrom", ())):
        here = f"{path}.envFrom[{index}]"
        if (prefix := source.get("prefix")) and (why := env_name(prefix)):
            yield invalid(f"{here}.prefix", prefix, why)
        if ("configMapRef" in source) == ("secretRef" in source):
            yield invalid(here, "", "must specify one of: `configMapRef` or `secretRef`")


def _value_from(path: str, variable: Mapping[str, Any]) -> Iterator[Problem]:
    source = variable["valueFrom"]
    if variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    if len([name for name in _SOURCES if name in source]) != 1:
        yield invalid(path, "", f"must specify exactly one of: {', '.join(f'`{name}`' for name in _SOURCES)}")
    if field := source.get("fieldRef"):
        yield from field_problems(f"{path}.fieldRef", field)
    if (resource := source.get("resourceFieldRef")) is not None and not resource.get("resource"):
        yield required(f"{path}.resourceFieldRef.resource")


def field_problems(path: str, field: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a reference to one of the pod's own fields, as environment variables may use it."""
    if field["apiVersion"] != "v1":
        yield invalid(f"{path}.apiVersion", field["apiVersion"], "only `v1` is known")
    wanted = field["fieldPath"]
    if wanted not in _FIELDS and not _SUBSCRIPT.match(wanted):
        listed = ", ".join(sorted(_FIELDS))
        yield Problem(f"{path}.fieldPath", f'Unsupported value: "{wanted}"; supported: {listed}, '
                      "metadata.labels['<KEY>'], metadata.annotations['<KEY>']")  # fmt: skip
