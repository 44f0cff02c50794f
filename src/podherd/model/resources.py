"""Sums of resources over a pod's containers, as the scheduler and the kubelet count them (kubelet behaviour, 3.11)."""

from collections.abc import Mapping
from typing import Any

from podherd.model.pod import Body, Container, Pod
from podherd.model.quantity import bytes_of, milli_of

Amounts = dict[str, int]
"""`cpu` in thousandths of a CPU; everything else in whole units (bytes for memory and storage)."""
HUGE_PAGES = "hugepages-"
"""Prefix of a resource that is memory in pages of one size, such as `hugepages-2Mi`."""


def amounts_of(resources: Mapping[str, Any] | None, kind: str) -> Amounts:
    """The `requests` or `limits` of a v1.ResourceRequirements. Raises QuantityError."""
    values = (resources or {}).get(kind) or {}
    return {name: milli_of(value) if name == "cpu" else bytes_of(value) for name, value in values.items()}


def container_amounts(container: Container, kind: str) -> Amounts:
    """The `requests` or `limits` of one container."""
    return amounts_of(container.body.get("resources"), kind)


def sum_of(spec: Body, kind: str) -> Amounts:
    """What the containers of a v1.PodSpec need at most at once, of `requests` or `limits`. Raises QuantityError.

    Regular containers and sidecars run together; an init container runs beside the sidecars before it only.
    """
    together: Amounts = {}
    for container in spec["containers"]:
        _add(together, amounts_of(container.get("resources"), kind))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = amounts_of(container.get("resources"), kind)
        if container.get("restartPolicy") == "Always":
            _add(sidecars, own)
            _add(together, own)
            _raise_to(peak, sidecars)
        else:
            _raise_to(peak, _sum(sidecars, own))
    _raise_to(together, peak)
    return together


def pod_amounts(pod: Pod, kind: str) -> Amounts:
    """The pod's `requests` or `limits` without overhead; its own (pod-level) ones win over the containers'."""
    spec = pod.body["spec"]
    total = sum_of(spec, kind)
    return {**total, **amounts_of(spec["resources"], kind)} if spec.get("resources") else total


def overhead_of(pod: Pod) -> Amounts:
    """What the pod's RuntimeClass needs beside the containers (`spec.overhead`)."""
    return amounts_of({"overhead": pod.body["spec"].get("overhead")}, "overhead")


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total.get(name, 0) + value


def _sum(one: Amounts, other: Amounts) -> Amounts:
    total = dict(one)
    _add(total, other)
    return total


def _raise_to(total: Amounts, floor: Amounts) -> None:
    for name, value in floor.items():
        total[name] = max(total.get(name, 0), value)
