"""Where two lists of packed instructions first differ, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from podherd.journal.kinds import Packed, field_names, kind_name

NOTHING = "nothing"
SHOWN = 300
"""Longest value that is shown whole."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first instruction that is not as it was. place: its number in the turn, from 1. where: the field, if one."""

    place: int
    where: str
    expected: str
    got: str


def first_difference(expected: Sequence[Packed], got: Sequence[Packed]) -> Difference | None:
    """None when they are equal."""
    for place, (old, new) in enumerate(zip(expected, got, strict=False), 1):
        if old != new:
            return _between(place, old, new)
    if len(expected) == len(got):
        return None
    place = min(len(expected), len(got)) + 1
    return Difference(place, "", _at(expected, place), _at(got, place))


def _at(told: Sequence[Packed], place: int) -> str:
    return shown(told[place - 1]) if place <= len(told) else NOTHING


def _between(place: int, old: Packed, new: Packed) -> Difference:
    if old[0] != new[0]:
        return Difference(place, "", shown(old), shown(new))
    path, before, after = _inside(old[1:], new[1:])
    names = field_names(old)
    field = names[path[0]] if path and isinstance(path[0], int) and path[0] < len(names) else ""
    where = ".".join([kind_name(old), field, *(str(part) for part in path[1:])])
    who = next((str(value) for value in old[1:2] if isinstance(value, str)), "")
    return Difference(place, f"{where} of {who}" if who else where, _cut(before), _cut(after))


def _inside(old: Any, new: Any) -> tuple[list[int | str], Any, Any]:
    """The path to the first place where two values differ, and what stands there."""
    if isinstance(old, tuple) and isinstance(new, tuple):
        for index, (before, after) in enumerate(zip_longest(old, new, fillvalue=NOTHING)):
            if before != after:
                path, left, right = _inside(before, after)
                return [index, *path], left, right
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in {**old, **new}:
            if (before := old.get(key, NOTHING)) != (after := new.get(key, NOTHING)):
                path, left, right = _inside(before, after)
                return [str(key), *path], left, right
    return [], old, new


def shown(array: Packed) -> str:
    """A packed event or instruction as one line: its kind, and its fields by name."""
    words = [f"{name}={_cut(value)}" for name, value in zip(field_names(array), array[1:], strict=False)]
    return f"{kind_name(array)}({', '.join(words)})"[: 2 * SHOWN]


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
