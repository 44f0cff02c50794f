"""Defaults of requests and limits, of a container and of the pod as a whole (KEP-2837)."""

from typing import Any

from podherd.model.quantity import QuantityError
from podherd.model.resources import HUGE_PAGES, Amounts, sum_of

_RESIZABLE = ("cpu", "memory")


def set_container_resources(container: dict[str, Any]) -> None:
    """A request that is not given is its limit; numbers become quantities; cpu and memory resize without a restart."""
    resources = container["resources"]
    _write_as_text(resources)
    if limits := resources.get("limits"):
        requests = resources.setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)
    named = {policy.get("resourceName") for policy in container.get("resizePolicy", ())}
    for name in _RESIZABLE:
        if name not in named and name in resources.get("requests", {}):
            container.setdefault("resizePolicy", []).append({"resourceName": name, "restartPolicy": "NotRequired"})


def set_pod_resources(spec: dict[str, Any]) -> None:
    """What `spec.resources` leaves open follows its containers, whose own defaults are set, then the pod's limits.

    An amount that is no quantity is left to validation.
    """
    resources = spec["resources"]
    _write_as_text(resources)
    try:
        if resources.get("limits") or resources.get("requests"):
            _set_huge_pages(resources, sum_of(spec, "limits"))
        if resources.get("limits"):
            _set_requests(resources, sum_of(spec, "requests"))
    except QuantityError:
        return


def _set_huge_pages(resources: dict[str, Any], used: Amounts) -> None:
    given = {*resources.get("requests", {}), *resources.get("limits", {})}
    for name, amount in used.items():
        if name.startswith(HUGE_PAGES) and name not in given:
            resources.setdefault("limits", {})[name] = str(amount)


def _set_requests(resources: dict[str, Any], used: Amounts) -> None:
    requests = resources.setdefault("requests", {})
    for name, amount in used.items():
        if name in _RESIZABLE:
            requests.setdefault(name, f"{amount}m" if name == "cpu" else str(amount))
    for name, limit in resources["limits"].items():
        requests.setdefault(name, limit)


def _write_as_text(resources: dict[str, Any]) -> None:
    for amounts in (resources.get("limits", {}), resources.get("requests", {})):
        for name, amount in amounts.items():
            if not isinstance(amount, str):
                amounts[name] = str(amount)
