"""Requests and limits of a container (amounts are quantities, already strings)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from podherd.model.problem import Problem, invalid
from podherd.model.quantity import QuantityError, bytes_of, milli_of
from podherd.model.resources import HUGE_PAGES
from podherd.model.validate.names import qualified_name

_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
NameProblems = Callable[[str, str], Iterator[Problem]]


def container_resource_name(path: str, name: str) -> Iterator[Problem]:
    """What is wrong with the name of a resource that a container asks for."""
    if name in _STANDARD or name.startswith(HUGE_PAGES):
        return
    if why := qualified_name(name):
        yield invalid(path, name, why)
    elif "/" not in name:
        yield invalid(path, name, "must be a standard resource for containers")


def resource_problems(
    path: str, resources: Mapping[str, Any], of_name: NameProblems = container_resource_name
) -> Iterator[Problem]:
    """What is wrong with `resources`; of_name: which names may be in them."""
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    bad: list[Problem] = []
    for field, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if field == "requests" and limits.get(name) == amount:
                continue
            bad.extend(of_name(f"{path}.{field}", name))
            bad.extend(amount_problems(f"{path}.{field}[{name}]", name, amount))
    yield from bad
    named = {*limits, *requests}
    if any(name.startswith(HUGE_PAGES) for name in named) and not named & {"cpu", "memory"}:
        yield Problem(path, "Forbidden: HugePages require cpu or memory")
    if not bad:
        yield from _against_limits(f"{path}.requests", requests, limits)


def amount_problems(path: str, name: str, amount: str) -> Iterator[Problem]:
    """What is wrong with one amount of the resource `name`."""
    try:
        milli = milli_of(amount)
    except QuantityError as error:
        yield Problem(path, f'Invalid value: "{amount}": {error.reason}', error.mend)
        return
    if name not in _STANDARD and milli % 1000:
        yield invalid(path, amount, "must be an integer")


def _against_limits(path: str, requests: Mapping[str, str], limits: Mapping[str, str]) -> Iterator[Problem]:
    for name, amount in requests.items():
        limit = limits.get(name)
        if limit is None:
            if name not in _STANDARD:
                yield Problem(f"{path}[{name}]", "Required value: Limit must be set for non overcommitable resources")
            continue
        measure = milli_of if name == "cpu" else bytes_of
        if name not in _STANDARD and measure(amount) != measure(limit):
            yield invalid(f"{path}[{name}]", amount, f"must be equal to {name} limit of {limit}")
        elif measure(amount) > measure(limit):
            yield invalid(f"{path}[{name}]", amount, f"must be less than or equal to {name} limit of {limit}")
