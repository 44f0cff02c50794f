"""Services as environment variables (kubelet behaviour, section 3.12)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MASTER = "kubernetes"
MASTER_NAMESPACE = "default"
Service = Mapping[str, Any]


def service_variables(namespace: str, links: bool, services: Mapping[str, Iterable[Service]]) -> list[tuple[str, str]]:
    """Names and values for a container of a pod in `namespace`.

    services: by namespace. links: whether the pod is told of all of its own namespace (`enableServiceLinks`); the
    service `kubernetes` of `default` is told to every pod that has no service of this name in its own.
    """
    told = {each["metadata"]["name"]: each for each in services.get(namespace, ())} if links else {}
    for each in services.get(MASTER_NAMESPACE, ()):
        if each["metadata"]["name"] == MASTER:
            told.setdefault(MASTER, each)
    return [pair for service in told.values() for pair in _variables(service)]


def _variables(service: Service) -> Iterator[tuple[str, str]]:
    spec = service["spec"]
    address, ports = spec.get("clusterIP") or "None", spec.get("ports") or ()
    if address == "None" or not ports:
        return
    prefix = _name(service["metadata"]["name"])
    yield f"{prefix}_SERVICE_HOST", address
    yield f"{prefix}_SERVICE_PORT", str(ports[0]["port"])
    for port in ports:
        if port.get("name"):
            yield f"{prefix}_SERVICE_PORT_{_name(port['name'])}", str(port["port"])
    yield from _links(prefix, address, ports)


def _links(prefix: str, address: str, ports: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Those that Docker's links had."""
    host = f"[{address}]" if ":" in address else address
    for index, port in enumerate(ports):
        number, protocol = str(port["port"]), (port.get("protocol") or "TCP").lower()
        url = f"{protocol}://{host}:{number}"
        if not index:
            yield f"{prefix}_PORT", url
        stem = f"{prefix}_PORT_{number}_{protocol.upper()}"
        yield stem, url
        yield f"{stem}_PROTO", protocol
        yield f"{stem}_PORT", number
        yield f"{stem}_ADDR", address


def _name(text: str) -> str:
    return text.replace("-", "_").upper()
