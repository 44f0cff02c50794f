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

    A request that is not given is its limit, one of 0 is less than it. Raises QuantityError.
    """
    spec = body["spec"]
    if own := spec.get("resources"):
        return _class_of([own])
    containers = (*(spec.get("initContainers") or ()), *spec["containers"])
    return _class_of([container.get("resources") or {} for container in containers])


def _class_of(every: Iterable[Body]) -> str:
    guaranteed, asks = True, False
    for resources in every:
        requests, limits = _amounts(resources.get("requests")), _amounts(resources.get("limits"))
        asks = asks or any(requests.values()) or any(limits.values())
        limited = len(limits) == len(_COMPUTE) and all(limits.values())
        guaranteed = guaranteed and limited and {**limits, **requests} == limits
    if not asks:
        return BEST_EFFORT
    return GUARANTEED if guaranteed else BURSTABLE


def _amounts(amounts: Mapping[str, Any] | None) -> dict[str, int]:
    return {name: milli_of(amounts[name]) for name in _COMPUTE if name in amounts} if amounts else {}
