"""Two statuses compared for what they mean: the API server writes the same thing in another way than it was sent."""

from collections.abc import Mapping
from typing import Any

from podherd.model.quantity import QuantityError, milli_of

_TIMES = frozenset({"lastTransitionTime", "lastProbeTime", "startTime", "startedAt", "finishedAt"})
_AMOUNTS = frozenset({"limits", "requests", "allocatedResources", "allocated"})
_NOTHING: tuple[Any, ...] = (None, "", {}, [], ())


def same(one: Any, other: Any) -> bool:
    """Whether they differ only in what the API server leaves out or writes anew."""
    return bool(one == other or plain(one) == plain(other))


def plain(value: Any, key: str = "") -> Any:
    """Without what is empty, times in whole seconds, quantities as thousandths. key: what it stands under."""
    if isinstance(value, Mapping):
        if key in _AMOUNTS:
            return {name: _amount(each) for name, each in value.items()}
        parts = ((name, plain(each, name)) for name, each in value.items())
        return {name: part for name, part in parts if not _is_nothing(part)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return whole_seconds(value) if key in _TIMES and isinstance(value, str) else value


def whole_seconds(time: str) -> str:
    """`2026-01-02T03:04:05.6Z` -> `2026-01-02T03:04:05Z` (kubelet behaviour, section 6.4)."""
    whole, point, rest = time.partition(".")
    return whole + rest.lstrip("0123456789") if point else time


def _is_nothing(value: Any) -> bool:
    return not isinstance(value, bool | int | float) and value in _NOTHING


def _amount(value: Any) -> Any:
    """A quantity's value; what is none stands as it is."""
    try:
        return milli_of(value)
    except (QuantityError, TypeError):
        return value
