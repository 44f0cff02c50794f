"""A machine as bytes, and again: pickle, of which only this package's own plain classes are ever loaded.

A journal may come from another machine and from anybody: `find_class` hands out classes of the machines and the wire,
pods, and a few containers of the standard library; never a function.
"""

import pickle
from collections import Counter, deque
from io import BytesIO
from typing import Any

from podherd.errors import WireError

PROTOCOL = 5
_ROOMS = ("podherd.machines.", "podherd.wire.")
_FILES = frozenset({"podherd.model.pod", "podherd.native.changes"})
_PLAIN = {(kind.__module__, kind.__name__): kind for kind in (set, frozenset, deque, Counter)}


class SnapshotError(WireError):
    """A machine that cannot be written, or bytes that are none."""


def taken(machine: Any) -> bytes:
    """The machine as it is now. Raises SnapshotError for one that holds what cannot be written."""
    try:
        return pickle.dumps(machine, PROTOCOL)
    except Exception as error:
        raise SnapshotError(type(machine).__name__, f"cannot be written: {type(error).__name__}: {error}") from error


def restored(data: bytes) -> Any:
    """The machine again. Raises SnapshotError for bytes of another version, or of another kind."""
    try:
        return _Reader(BytesIO(data)).load()
    except SnapshotError:
        raise
    except Exception as error:
        raise SnapshotError("snapshot", f"cannot be read: {type(error).__name__}: {error}") from error


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """Own classes alone."""
        if (plain := _PLAIN.get((module, name))) is not None:
            return plain
        if (module.startswith(_ROOMS) or module in _FILES) and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise SnapshotError("snapshot", f"names {module}.{name}, which no machine holds", "it is not podherd's")
