"""Times of a status."""

from datetime import datetime
from functools import lru_cache

from podherd.model.status import rfc3339


def told_time(at: float) -> str:
    """`rfc3339`; times of one pod, and of pods that start together, are told again and again."""
    return _second(int(at))


def time_of(text: str | None) -> float | None:
    """Epoch seconds of a time that the API tells; None for none, and for what cannot be read."""
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except (TypeError, ValueError):
        return None


@lru_cache(maxsize=4096)
def _second(at_s: int) -> str:
    return rfc3339(at_s)
