"""Environment variables and where their values may come from."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, required
from podherd.model.validate.mounts import backstep_problems
from podherd.model.validate.names import dns_label, env_name
from podherd.model.validate.resource_fields import resource_field_problems

_FIELDS = frozenset({
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
})  # fmt: skip
_SUBSCRIPT = re.compile(r"metadata\.(?:labels|annotations)\['[^']+'\]\Z")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def env_problems(path: str, container: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with `env` and `envFrom` of one container of the pod spec."""
    for index, variable in enumerate(container.get("env", ())):
        here = f"{path}.env[{index}]"
        if not variable["name"]:
            yield required(f"{here}.name")
        elif why := env_name(variable["name"]):
            yield invalid(f"{here}.name", variable["name"], why)
        if "valueFrom" in variable:
            yield from _value_from(f"{here}.valueFrom", variable, spec)
    for index, source in enumerate(container.get("envFrom", ())):
        here = f"{path}.envFrom[{index}]"
        if (prefix := source.get("prefix")) and (why := env_name(prefix)):
            yield invalid(f"{here}.prefix", prefix, why)
        if ("configMapRef" in source) == ("secretRef" in source):
            yield invalid(here, "", "must specify one of: `configMapRef` or `secretRef`")


def _value_from(path: str, variable: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Problem]:
    source = variable["valueFrom"]
    if variable.get("value"):
        yield invalid(path, "", "may not be specified when `value` is not empty")
    if len([name for name in _SOURCES if name in source]) != 1:
        yield invalid(path, "", f"must specify exactly one of: {', '.join(f'`{name}`' for name in _SOURCES)}")
    if field := source.get("fieldRef"):
        yield from field_problems(f"{path}.fieldRef", field)
    if (resource := source.get("resourceFieldRef")) is not None:
        yield from resource_field_problems(f"{path}.resourceFieldRef", resource)
    if (key := source.get("fileKeyRef")) is not None:
        yield from _file_key(f"{path}.fileKeyRef", key, spec)


def _file_key(path: str, key: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[Problem]:
    """KEP-3721: a variable out of a file in an emptyDir of the pod."""
    for field, check in (("key", env_name), ("volumeName", dns_label), ("path", None)):
        if not key[field]:
            yield required(f"{path}.{field}")
        elif check is not None and (why := check(key[field])):
            yield invalid(f"{path}.{field}", key[field], why)
    yield from backstep_problems(f"{path}.path", key["path"])
    name = key["volumeName"]
    volume = next((volume for volume in spec.get("volumes", ()) if volume["name"] == name), None)
    if volume is None:
        yield Problem(f"{path}.volumeName", f'Not found: "{name}"', "declare it under spec.volumes")
    elif "emptyDir" not in volume:
        yield invalid(f"{path}.volumeName", name, "referenced volume must be of type emptyDir")


def field_problems(path: str, field: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a reference to one of the pod's own fields, as environment variables may use it."""
    if field["apiVersion"] != "v1":
        yield invalid(f"{path}.apiVersion", field["apiVersion"], "only `v1` is known")
    wanted = field["fieldPath"]
    if wanted not in _FIELDS and not _SUBSCRIPT.match(wanted):
        listed = ", ".join(sorted(_FIELDS))
        yield Problem(f"{path}.fieldPath", f'Unsupported value: "{wanted}"; supported: {listed}, '
                      "metadata.labels['<KEY>'], metadata.annotations['<KEY>']")  # fmt: skip
