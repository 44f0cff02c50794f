"""Requests and limits of the pod as a whole, and how they bound its containers' (KEP-2837)."""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid, unsupported_value
from podherd.model.quantity import QuantityError
from podherd.model.resources import HUGE_PAGES, amounts_of, sum_of
from podherd.model.validate.resources import resource_problems

NAMES = ("cpu", "memory")
_PATH = "spec.resources"


def pod_resource_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with `spec.resources`."""
    resources = spec["resources"]
    if resources.get("claims"):
        yield Problem(f"{_PATH}.claims", "Forbidden: claims may not be set for Resources at pod-level")
    bad = list(resource_problems(_PATH, resources, _name_problems))
    yield from bad
    if not bad:
        try:
            yield from _sums(spec, resources)
            yield from _single_limits(spec, resources)
        except QuantityError:
            return  # a container's amount, which is told of at its own place


def _name_problems(path: str, name: str) -> Iterator[Problem]:
    if not name.startswith(HUGE_PAGES):
        yield from unsupported_value(path, name, (*NAMES, f"{HUGE_PAGES}<SIZE>"))


def _sums(spec: Mapping[str, Any], resources: Mapping[str, Any]) -> Iterator[Problem]:
    """All containers together may not ask for more than the pod; nor may their huge pages, which are no promise."""
    for kind in ("requests", "limits"):
        total, whole = sum_of(spec, kind), amounts_of(resources, kind)
        for name, amount in total.items():
            if kind == "limits" and not name.startswith(HUGE_PAGES):
                continue
            if amount > whole.get(name, amount):
                reason = f"must be greater than or equal to aggregate container {kind} of {_shown(name, amount)}"
                yield invalid(f"{_PATH}.{kind}[{name}]", resources[kind][name], reason)


def _single_limits(spec: Mapping[str, Any], resources: Mapping[str, Any]) -> Iterator[Problem]:
    whole = amounts_of(resources, "limits")
    for index, container in enumerate(spec["containers"]):
        for name, amount in amounts_of(container.get("resources"), "limits").items():
            if amount > whole.get(name, amount):
                path = f"spec.containers[{index}].resources.limits[{name}]"
                reason = f"must be less than or equal to pod limits of {resources['limits'][name]}"
                yield invalid(path, container["resources"]["limits"][name], reason)


def _shown(name: str, amount: int) -> str:
    return f"{amount}m" if name == "cpu" else str(amount)
