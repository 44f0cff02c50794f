"""The known name that a mistyped one most likely meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """The closest of `known`, letter case aside; empty when none is close."""
    lowered = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(name.lower(), lowered, n=1, cutoff=0.7)
    return lowered[close[0]] if close else ""
