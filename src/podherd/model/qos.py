"""The QoS class of a pod (kubelet behaviour, section 3.11): Guaranteed, Burstable or BestEffort."""

from collections.abc import Iterable, Mapping
from typing import Any

from podherd.model.pod import Body
from podherd.model.quantity import milli_of

GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"
_COMPUTE = ("cpu", "memory")


def qos_class(body: Body) -> str:
    """The class of a v1.Pod: by cpu and memory of its own resources where it has any, else of all its containers.

    Raises QuantityError.
    """
    spec = body["spec"]
    if own := spec.get("resources"):
        return _class_of([own])
    containers = (*(spec.get("initContainers") or ()), *spec["containers"])
    return _class_of([container.get("resources") or {} for container in containers])


def _class_of(every: Iterable[Body]) -> str:
    guaranteed, asks = True, False
    for resources in every:
        requests, limits = _positive(resources.get("requests")), _positive(resources.get("limits"))
        asks = asks or bool(requests or limits)
        guaranteed = guaranteed and len(limits) == len(_COMPUTE) and {**limits, **requests} == limits
    if not asks:
        return BEST_EFFORT
    return GUARANTEED if guaranteed else BURSTABLE


def _positive(amounts: Mapping[str, Any] | None) -> dict[str, int]:
    values = ((name, milli_of(amounts[name])) for name in _COMPUTE if amounts and name in amounts)
    return {name: milli for name, milli in values if milli}
