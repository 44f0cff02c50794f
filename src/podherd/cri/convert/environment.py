"""A container's environment (kubelet behaviour, section 3.12; case SPEC-1)."""

from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from podherd.cri.convert.downward import field_value, resource_value
from podherd.cri.convert.env_file import ReadFile, file_value
from podherd.cri.convert.host import Host
from podherd.errors import ContainerConfigError
from podherd.machines.objects.found import Lookup, nowhere
from podherd.model.expand import expand
from podherd.model.pod import Body, Container, Pod
from podherd.wire.objects import Ref

_SELECTORS = {"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}
_WHOLE = {"configMapRef": "ConfigMap", "secretRef": "Secret"}


def environment(
    pod: Pod,
    container: Container,
    host: Host,
    pod_ips: tuple[str, ...],
    services: Iterable[tuple[str, str]] = (),
    read_file: ReadFile | None = None,
    look: Lookup = nowhere,
) -> dict[str, str]:
    """Names and values in order. `$(VAR)` sees earlier entries and `services`, the lowest-ranking variables.

    read_file: for variables from files. look: for those from API objects. What is optional and not there is left out.
    Raises ContainerConfigError for a reference that cannot be followed on this node.
    """
    lowest = dict(services)
    own = _from_objects(pod, container, look)
    known = {**lowest, **own}
    for entry in container.body.get("env") or ():
        value = _value(pod, container, entry, known, host, pod_ips, read_file, look)
        if value is not None:
            known[entry["name"]] = own[entry["name"]] = value
    return {**own, **{name: value for name, value in lowest.items() if name not in own}}


def _value(
    pod: Pod,
    container: Container,
    entry: Body,
    known: Mapping[str, str],
    host: Host,
    pod_ips: tuple[str, ...],
    read_file: ReadFile | None,
    look: Lookup,
) -> str | None:
    if text := entry.get("value"):
        return expand(text, known)
    source: dict[str, Any] = entry.get("valueFrom") or {}
    about = f"env {entry['name']} of container {container.name}"
    if reference := source.get("fileKeyRef"):
        return file_value(reference, about, read_file)
    if reference := source.get("fieldRef"):
        return field_value(pod, reference["fieldPath"], host, pod_ips)
    if reference := source.get("resourceFieldRef"):
        return resource_value(pod, container, reference, host)
    for field, kind in _SELECTORS.items():
        if reference := source.get(field):
            return _of_key(pod, kind, reference, about, look)
    return ""


def _from_objects(pod: Pod, container: Container, look: Lookup) -> dict[str, str]:
    """The variables of `envFrom`; of two with one name the later counts."""
    taken: dict[str, str] = {}
    for source in container.body.get("envFrom") or ():
        prefix, about = source.get("prefix") or "", f"envFrom of container {container.name}"
        for field, kind in _WHOLE.items():
            if (reference := source.get(field)) is not None and (values := _values(pod, kind, reference, about, look)):
                taken.update({f"{prefix}{key}": _text(kind, values[key], about) for key in sorted(values)})
    return taken


def _of_key(pod: Pod, kind: str, reference: Body, about: str, look: Lookup) -> str | None:
    values, key = _values(pod, kind, reference, about, look), reference.get("key") or ""
    if values is not None and key in values:
        return _text(kind, values[key], about)
    if reference.get("optional"):
        return None
    words = f"couldn't find key {key} in {kind} {pod.namespace}/{reference.get('name') or ''}"
    raise ContainerConfigError(about, words, "add the key, or set optional: true", words)


def _values(pod: Pod, kind: str, reference: Body, about: str, look: Lookup) -> Mapping[str, str] | None:
    """The object's `data`; None when it is optional and there is no such object. Raises ContainerConfigError."""
    found = look(Ref(kind, pod.namespace, reference.get("name") or ""))
    if found.body is not None:
        data: Mapping[str, str] = found.body.get("data") or {}
        return data
    if found.missing and reference.get("optional"):
        return None
    raise ContainerConfigError(about, found.problem, words=found.problem)


def _text(kind: str, value: str, about: str) -> str:
    """A Secret's values are base64. Raises ContainerConfigError for one that no variable can hold."""
    try:
        return b64decode(value).decode() if kind == "Secret" else value
    except ValueError as error:
        raise ContainerConfigError(about, "a value of the Secret is no UTF-8 text", "mount it as a volume") from error
