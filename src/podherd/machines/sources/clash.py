"""Which manifest wins when several declare one pod (case SRC-1). The rule is told to users in docs/manifests.md."""

import re
from functools import lru_cache
from typing import NamedTuple

from podherd.model.keys import SOURCE_API, SOURCE_FILE, SOURCE_HTTP

SOURCES = (SOURCE_FILE, SOURCE_HTTP, SOURCE_API)
"""Earlier wins over later."""
_BACKUP = re.compile(
    r"(?:.*(?:~|\.(?:bak|backup|orig|old|save|saved|swp|swo|tmp|temp|copy|disabled|rej"
    r"|rpmsave|rpmnew|rpmorig|dpkg-old|dpkg-new|dpkg-dist|dpkg-tmp|ucf-old|ucf-new|ucf-dist)(?:[-._]?[0-9]+)?)"
    r"|#.*#)\Z",
    re.IGNORECASE | re.DOTALL,
)


class Claim(NamedTuple):
    """One pod of one origin; place: where it stands in a list."""

    source: str
    origin: str
    place: int


@lru_cache(maxsize=16384)
def rank(claim: Claim) -> tuple[int, bool, bytes, bytes, int]:
    """The least wins: by source, then no backup name before a backup name, then the file name's bytes."""
    name = claim.origin.rpartition("/")[2] if claim.source == SOURCE_FILE else claim.origin
    backup = claim.source == SOURCE_FILE and _BACKUP.match(name) is not None
    return SOURCES.index(claim.source), backup, name.encode(), claim.origin.encode(), claim.place


def why(winner: Claim, loser: Claim) -> str:
    """The rule that decided, for people."""
    first, second = rank(winner), rank(loser)
    if first[0] != second[0]:
        return f"source {winner.source} comes before {loser.source}"
    if first[1] != second[1]:
        return "its name is not that of a backup copy"
    return "it comes first by name" if first[2] != second[2] else "it stands first"
