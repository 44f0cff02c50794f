"""Whether what was read from a journal or a frame holds what its class declares: neither decoder asks for types."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from podherd.errors import WireError
from podherd.model.pod import Pod

T = TypeVar("T")
Fits: TypeAlias = Callable[[Any], bool]
_PLAIN: dict[Any, type | tuple[type, ...]] = {
    str: str, bytes: bytes, int: int, float: (int, float), bool: bool, type(None): type(None), Pod: Pod,
}  # fmt: skip


def checked(it: T) -> T:
    """The dataclass as it came. Raises WireError for one with a field that is not of its declared type."""
    kind: type = type(it)
    for name, fits in _fields(kind):
        if not fits(value := getattr(it, name)):
            raise WireError("journal", f"a {kind.__name__} in it has no such {name}: {value!r:.80}")
    return it


@cache
def _fields(kind: type) -> tuple[tuple[str, Fits], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, _fits(hints[field.name])) for field in fields(kind))


def _fits(hint: Any) -> Fits:
    if (plain := _PLAIN.get(hint)) is not None:
        return lambda value: isinstance(value, plain)
    if isinstance(hint, type) and is_dataclass(hint):
        return lambda value: isinstance(value, hint) and all(fits(getattr(value, name)) for name, fits in _fields(hint))
    origin, inner = get_origin(hint), [_fits(each) for each in get_args(hint) if each is not ...]
    if origin in (Union, UnionType):
        return lambda value: any(fits(value) for fits in inner)
    if origin in (tuple, Sequence) and inner:
        first = inner[0]
        return lambda value: isinstance(value, tuple | list) and all(first(each) for each in value)
    if origin in (dict, Mapping) and inner:
        key_fits, value_fits = inner
        return lambda value: isinstance(value, Mapping) and all(key_fits(k) and value_fits(v) for k, v in value.items())
    return lambda _value: True
