"""What a pod asks of the node: little enough to be kept of every pod that runs here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from podherd.model import keys
from podherd.model.pod import Body
from podherd.model.qos import qos_class
from podherd.model.resources import Amounts, amounts_of, sum_of
from podherd.model.status import TERMINAL

CRITICAL_PRIORITY = 2_000_000_000
"""From here on a pod is critical (`system-cluster-critical`; kubelet behaviour, section 8.6)."""
Port = tuple[str, str, int]
"""Address, protocol and number of a host port; the address of all is `0.0.0.0`."""
ANY_IP = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class Ask:
    """One pod's. requests: overhead too. created: its creationTimestamp, empty for a static pod.

    accepted: the API server knows that a node agent took it (`status.startTime`). over: its phase is terminal.
    """

    uid: str
    namespace: str
    name: str
    static: bool
    critical: bool
    priority: int | None
    qos: str
    requests: Amounts
    ports: tuple[Port, ...]
    created: str
    accepted: bool
    over: bool
    deleting: bool


def ask_of(body: Body, static: bool) -> Ask:
    """Read from a defaulted v1.Pod. Raises QuantityError for an amount that is none."""
    metadata, spec, status = body["metadata"], body["spec"], body.get("status") or {}
    priority = spec.get("priority")
    return Ask(
        uid=metadata["uid"],
        namespace=metadata["namespace"],
        name=metadata["name"],
        static=static,
        critical=static or _is_mirror(metadata) or (priority is not None and priority >= CRITICAL_PRIORITY),
        priority=priority,
        qos=qos_class(body),
        requests=requests_of(spec),
        ports=tuple(_ports(spec)),
        created="" if static else str(metadata.get("creationTimestamp") or ""),
        accepted=not static and bool(status.get("startTime")),
        over=not static and status.get("phase") in TERMINAL,
        deleting=metadata.get("deletionTimestamp") is not None,
    )


def requests_of(spec: Body) -> Amounts:
    """Of the containers, or the pod's own where it has any, and the overhead. Raises QuantityError."""
    total = sum_of(spec, "requests")
    if own := spec.get("resources"):
        total |= amounts_of(own, "requests")
    for name, amount in amounts_of({"overhead": spec.get("overhead")}, "overhead").items():
        total[name] = total.get(name, 0) + amount
    return total


def _is_mirror(metadata: Body) -> bool:
    return keys.CONFIG_MIRROR in (metadata.get("annotations") or ())


def _ports(spec: Body) -> Iterator[Port]:
    """Host ports of regular containers and sidecars: a plain init container's are not held."""
    sidecars = (each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always")
    for container in (*spec["containers"], *sidecars):
        yield from (_port(each) for each in container.get("ports") or () if each.get("hostPort"))


def _port(port: dict[str, Any]) -> Port:
    return port.get("hostIP") or ANY_IP, port.get("protocol") or "TCP", port["hostPort"]
