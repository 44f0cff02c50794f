"""A container's environment (kubelet behaviour, section 3.12; case SPEC-1)."""

from collections.abc import Iterable, Mapping
from typing import Any

from podherd.cri.convert.downward import field_value, resource_value
from podherd.cri.convert.env_file import ReadFile, file_value
from podherd.cri.convert.host import Host
from podherd.errors import ContainerConfigError
from podherd.model.expand import expand
from podherd.model.pod import Body, Container, Pod

_ELSEWHERE = {
    "configMapKeyRef": "ConfigMap",
    "secretKeyRef": "Secret",
}


def environment(
    pod: Pod,
    container: Container,
    host: Host,
    pod_ips: tuple[str, ...],
    services: Iterable[tuple[str, str]] = (),
    read_file: ReadFile | None = None,
) -> dict[str, str]:
    """Names and values in order. `$(VAR)` sees earlier entries and `services`, the lowest-ranking variables.

    read_file: for variables from files; an optional one that is not there is left out.
    Raises ContainerConfigError for a reference that cannot be followed on this node.
    """
    if container.body.get("envFrom"):
        raise ContainerConfigError(f"envFrom of container {container.name}", "needs an API server to read from")
    lowest = dict(services)
    known = dict(lowest)
    own: dict[str, str] = {}
    for entry in container.body.get("env") or ():
        reference = (entry.get("valueFrom") or {}).get("fileKeyRef") if not entry.get("value") else None
        if reference:
            value = file_value(reference, f"env {entry['name']} of container {container.name}", read_file)
        else:
            value = _value(pod, container, entry, known, host, pod_ips)
        if value is not None:
            known[entry["name"]] = own[entry["name"]] = value
    return {**own, **{name: value for name, value in lowest.items() if name not in own}}


def _value(
    pod: Pod, container: Container, entry: Body, known: Mapping[str, str], host: Host, pod_ips: tuple[str, ...]
) -> str:
    if text := entry.get("value"):
        return expand(text, known)
    source: dict[str, Any] = entry.get("valueFrom") or {}
    if reference := source.get("fieldRef"):
        return field_value(pod, reference["fieldPath"], host, pod_ips)
    if reference := source.get("resourceFieldRef"):
        return resource_value(pod, container, reference, host)
    for kind, name in _ELSEWHERE.items():
        if kind in source:
            field = f"env {entry['name']} of container {container.name}"
            raise ContainerConfigError(field, f"a {name} reference needs an API server to read from")
    return ""
