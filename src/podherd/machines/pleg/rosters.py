"""Rosters that are owed to shards: each goes out once every pod in it has been told."""

from collections.abc import Iterable
from dataclasses import dataclass

from podherd.machines.pleg.instructions import TellRoster
from podherd.wire.observed import ObservedRoster


@dataclass(slots=True)
class _Owed:
    roster: ObservedRoster
    untold: set[str]


class Rosters:
    """At most one a shard, the newest. What it lists is fixed when it is owed, so churn cannot delay it."""

    def __init__(self) -> None:
        self._owed: dict[int, _Owed] = {}

    def owe(self, shard: int, at: float, uids: Iterable[str], untold: Iterable[str]) -> None:
        """This shard gets the roster of `uids` at `at`, once the `untold` among them were told."""
        self._owed[shard] = _Owed(ObservedRoster(tuple(uids), at), set(untold))

    def told(self, uid: str) -> None:
        """This pod has been told."""
        for owed in self._owed.values():
            owed.untold.discard(uid)

    def due(self) -> list[TellRoster]:
        """Those that wait for nothing more, once."""
        shards = [shard for shard, owed in self._owed.items() if not owed.untold]
        return [TellRoster(shard, self._owed.pop(shard).roster) for shard in shards]
