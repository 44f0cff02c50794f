"""Kubernetes quantities (`100m`, `1.5Gi`, `1e3`) as whole numbers, rounded up as the API says (case SPEC-3)."""

import re
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from podherd.errors import PodherdError

Quantity: TypeAlias = str | int | float
"""As it stands in decoded YAML or JSON: a plain number is allowed where a string is meant."""

_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]?|[eE][+-]?[0-9]{1,3})\Z")
_SUFFIX = {
    "": Fraction(1),
    **{f"{letter}i": Fraction(1024 ** (n + 1)) for n, letter in enumerate("KMGTPE")},
    **{letter: Fraction(1000 ** (n + 1)) for n, letter in enumerate("kMGTPE")},
    **{letter: Fraction(1, 1000 ** (n + 1)) for n, letter in enumerate("mun")},
}
_MAX = 2**63 - 1
_LONGEST = 64
"""Characters of a quantity: the API's own canonical form is far shorter, and Python refuses numbers of 4,300 digits."""


class QuantityError(PodherdError):
    """A value is no quantity, or a negative one; `thing` is the value."""


def bytes_of(quantity: Quantity) -> int:
    """The value rounded up to a whole number; so `100m` of memory is 1, never 0. Raises QuantityError."""
    return _scaled(quantity, 1) if isinstance(quantity, str) else _scaled(repr(quantity), 1)


def milli_of(quantity: Quantity) -> int:
    """The value in thousandths, rounded up: `0.5` and `500m` of CPU are 500. Raises QuantityError."""
    return _scaled(quantity, 1000) if isinstance(quantity, str) else _scaled(repr(quantity), 1000)


def is_fractional(quantity: Quantity) -> bool:
    """Whether `bytes_of` had to round: a part of a byte is worth a warning. Raises QuantityError."""
    return milli_of(quantity) != 1000 * bytes_of(quantity)


@lru_cache(maxsize=4096)
def _scaled(text: str, factor: int) -> int:
    form = _FORM.match(text) if len(text) <= _LONGEST else None
    if form is None:
        mend = "write a number with one of the suffixes m k M G T P E Ki Mi Gi Ti Pi Ei"
        raise QuantityError(f"quantity {text[:_LONGEST]!r}", "is not a Kubernetes quantity", mend)
    number, suffix = form.groups()
    scale = _SUFFIX[suffix] if suffix in _SUFFIX else Fraction(10) ** int(suffix[1:])
    value = Fraction(number) * scale * factor
    if value < 0:
        raise QuantityError(f"quantity {text!r}", "must be greater than or equal to 0")
    return min(-(-value.numerator // value.denominator), _MAX)
