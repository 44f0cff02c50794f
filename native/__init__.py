"""Native hot paths as Cython leaves; `fallback/` has the same surface in plain Python, the oracle of the tests.

`Table` is the compiled one. PODHERD_NATIVE=fallback in the environment takes the plain one (some 50 times slower, for
a host without a C compiler); a build that is missing is an error and never a silent change of speed.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from podherd.errors import PodherdError

if TYPE_CHECKING:
    from podherd.native.relist import Table

__all__ = ["CHOICE", "NativeMissingError", "Table"]

CHOICE = "PODHERD_NATIVE"
"""The environment variable: `compiled` (also when unset or empty) or `fallback`."""
_BUILD = f"build it: `make build`, or `python setup.py build_ext --inplace`; {CHOICE}=fallback runs without, slower"


class NativeMissingError(PodherdError):
    """The compiled extensions were not built for this Python, or CHOICE names something else."""


def __getattr__(name: str) -> Any:
    if name != "Table":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _table()


def _table() -> Any:
    choice = os.environ.get(CHOICE) or "compiled"
    if choice == "fallback":
        return import_module("podherd.native.fallback.relist").Table
    if choice != "compiled":
        raise NativeMissingError(CHOICE, f"{choice!r} is neither `compiled` nor `fallback`", "unset it")
    try:
        return import_module("podherd.native.relist").Table
    except ImportError as error:
        raise NativeMissingError("podherd.native.relist", f"cannot be loaded: {error}", _BUILD) from error
