"""All services of the cluster that have an address, by namespace, cut down to what containers are told of them."""

from collections.abc import Iterable, Mapping
from typing import Any

Service = dict[str, Any]


class ServiceTable:
    """What the one follow of all services has told."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Service]] = {}
        self.listed = False
        """Whether a full list was heard once: before that nothing can be said of any namespace."""

    def replace(self, bodies: Iterable[Mapping[str, Any]]) -> set[str]:
        """A full list; the namespaces in which anything is different."""
        fresh: dict[str, dict[str, Service]] = {}
        for body in bodies:
            if cut := trimmed(body):
                fresh.setdefault(cut["metadata"]["namespace"], {})[cut["metadata"]["name"]] = cut
        old, self._known, self.listed = self._known, fresh, True
        return {name for name in (*old, *fresh) if old.get(name) != fresh.get(name)}

    def put(self, body: Mapping[str, Any]) -> set[str]:
        """One service is new or has changed."""
        if (cut := trimmed(body)) is None:
            return self.drop(body)
        namespace, name = cut["metadata"]["namespace"], cut["metadata"]["name"]
        held = self._known.setdefault(namespace, {})
        if held.get(name) == cut:
            return set()
        held[name] = cut
        return {namespace}

    def drop(self, body: Mapping[str, Any]) -> set[str]:
        """One service is gone."""
        metadata = body.get("metadata") or {}
        namespace = metadata.get("namespace") or ""
        gone = self._known.get(namespace, {}).pop(metadata.get("name") or "", None)
        return {namespace} if gone else set()

    def of(self, namespace: str) -> list[Service]:
        """The services of one namespace by name."""
        held = self._known.get(namespace, {})
        return [held[name] for name in sorted(held)]


def trimmed(body: Mapping[str, Any]) -> Service | None:
    """Names, address and ports of a v1.Service; None for one without an address of its own."""
    metadata, spec = body.get("metadata") or {}, body.get("spec") or {}
    address = spec.get("clusterIP") or "None"
    if address == "None" or not metadata.get("name"):
        return None
    ports = [
        {"name": port.get("name") or "", "port": port["port"], "protocol": port.get("protocol") or "TCP"}
        for port in spec.get("ports") or ()
    ]
    names = {"namespace": metadata.get("namespace") or "", "name": metadata["name"]}
    return {"metadata": names, "spec": {"clusterIP": address, "ports": ports}}
