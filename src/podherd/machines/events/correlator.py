"""Which Event object an occurrence belongs to: a new one, one that counts it too, or one for all that are similar.

The rules of client-go's EventCorrelator (kubelet behaviour, section 10): what differs in its message alone is similar,
and from the tenth message within ten minutes on it is told in one object.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from podherd.machines.events.happening import MESSAGE_MAX, Happening, Record
from podherd.machines.events.lru import Lru
from podherd.machines.events.spam import SpamFilter

SIMILAR_MOST = 10
SIMILAR_WITHIN_S = 600.0
COMBINED = "(combined from similar events): "


class Correlated(NamedTuple):
    """The Event object as it is to stand; is_new: it was not told before."""

    record: Record
    is_new: bool


@dataclass(slots=True)
class _Similar:
    """Messages seen of one kind of occurrence; a dict for its order."""

    last_at: float
    messages: dict[str, None] = field(default_factory=dict)


class Correlator:
    """Remembers what was told, within bounds."""

    def __init__(self) -> None:
        self._similar: Lru[Hashable, _Similar] = Lru()
        self._told: Lru[Hashable, Record] = Lru()
        self._spam = SpamFilter()
        self._last_ns = 0

    def correlate(self, what: Happening, at: float) -> Correlated | None:
        """The object that tells of it; None: the object it is about has had too many."""
        key, what = self._aggregated(what, at)
        before = self._told.get(key)
        if before is None:
            record = Record(self._name(what, at), what, 1, at, at)
        else:
            record = replace(before, happening=what, count=before.count + 1, last_at=at)
        self._told.put(key, record)
        return Correlated(record, before is None) if self._spam.lets_pass(what.about, what.type, at) else None

    def _aggregated(self, what: Happening, at: float) -> tuple[Hashable, Happening]:
        """Under which key it is counted, and what to tell."""
        group = (what.about, what.type, what.reason)
        similar = self._similar.get(group)
        if similar is None or at - similar.last_at > SIMILAR_WITHIN_S:
            similar = _Similar(at)
        similar.messages[what.message] = None
        similar.last_at = at
        self._similar.put(group, similar)
        if len(similar.messages) < SIMILAR_MOST:
            return what, what
        del similar.messages[next(iter(similar.messages))]
        return group, replace(what, message=f"{COMBINED}{what.message}"[:MESSAGE_MAX])

    def _name(self, what: Happening, at: float) -> str:
        """`<object>.<hex of the time in ns>`, no two of them the same."""
        self._last_ns = max(int(at * 1e9), self._last_ns + 1)
        return f"{what.about.name}.{self._last_ns:016x}"
