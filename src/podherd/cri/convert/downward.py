"""The downward API: fields of the pod as text (kubelet behaviour, section 3.12)."""

import re
from collections.abc import Callable, Mapping

from podherd.cri.convert.host import Host
from podherd.errors import ContainerConfigError
from podherd.model.pod import Body, Container, Pod
from podherd.model.quantity import bytes_of, milli_of
from podherd.model.resources import amounts_of, container_amounts

_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]\Z")
_POD_LEVEL = ("cpu", "memory")
_Field = Callable[[Pod, Host, tuple[str, ...]], str]
_FIELDS: Mapping[str, _Field] = {
    "metadata.name": lambda pod, _host, _ips: pod.name,
    "metadata.namespace": lambda pod, _host, _ips: pod.namespace,
    "metadata.uid": lambda pod, _host, _ips: pod.uid,
    "spec.nodeName": lambda pod, _host, _ips: pod.body["spec"].get("nodeName") or "",
    "spec.serviceAccountName": lambda pod, _host, _ips: pod.body["spec"].get("serviceAccountName") or "",
    "status.hostIP": lambda _pod, host, _ips: host.ips[0] if host.ips else "",
    "status.hostIPs": lambda _pod, host, _ips: ",".join(host.ips),
    "status.podIP": lambda _pod, _host, ips: ips[0] if ips else "",
    "status.podIPs": lambda _pod, _host, ips: ",".join(ips),
}


def field_value(pod: Pod, path: str, host: Host, pod_ips: tuple[str, ...]) -> str:
    """The text of a fieldPath; an absent label or annotation is empty. Raises ContainerConfigError."""
    if field := _FIELDS.get(path):
        return field(pod, host, pod_ips)
    if found := _SUBSCRIPT.match(path):
        return (pod.labels if found[1] == "labels" else pod.annotations).get(found[2], "")
    raise ContainerConfigError(f"fieldPath {path!r}", "is not a field that a container's environment can have")


def resource_value(pod: Pod, container: Container, reference: Body, host: Host) -> str:
    """A request or limit in units of its divisor, rounded up; an absent limit is the pod's, else all of the node's.

    Huge pages have no such default: they are never promised twice. Raises ContainerConfigError, QuantityError.
    """
    source = _container(pod, container, reference.get("containerName") or container.name)
    kind, _, name = reference["resource"].partition(".")
    value = container_amounts(source, kind).get(name, 0)
    if not value and kind == "limits":
        value = amounts_of(pod.body["spec"].get("resources"), kind).get(name, 0) if name in _POD_LEVEL else 0
        value = value or _of_node(name, host)
    divisor = reference.get("divisor") or "1"
    unit = milli_of(divisor) if name == "cpu" else bytes_of(divisor)
    return str(-(-value // (unit or (1000 if name == "cpu" else 1))))


def _of_node(name: str, host: Host) -> int:
    """Its allocatable; of a node that tells none, all of it."""
    all_of_it = {"cpu": host.cpu_milli, "memory": host.memory_bytes, "ephemeral-storage": host.storage_bytes}
    return host.allocatable.get(name, all_of_it[name]) if name in all_of_it else 0


def _container(pod: Pod, own: Container, name: str) -> Container:
    for container in (own, *pod.every_container):
        if container.name == name:
            return container
    raise ContainerConfigError("resourceFieldRef.containerName", f"container {name!r} not found in pod {pod.key}")
