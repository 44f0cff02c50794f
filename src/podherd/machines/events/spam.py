"""The spam filter: an object may have 25 events of each type at once, then one in five minutes.

As client-go's getSpamKey has it: a pod that is in trouble does not use up what tells of its recovery (kubelet
behaviour, section 10).
"""

from podherd.machines.events.happening import About
from podherd.machines.events.lru import Lru

BURST = 25
EVERY_S = 300.0


class SpamFilter:
    """A token bucket for each object and type of event; the source is always this agent."""

    def __init__(self) -> None:
        self._buckets: Lru[tuple[About, str], tuple[float, float]] = Lru()

    def lets_pass(self, about: About, kind: str, now: float) -> bool:
        """Whether one more event of the object may be told; takes a token if so. kind: `Normal` or `Warning`."""
        key = about, kind
        tokens, since = self._buckets.get(key) or (float(BURST), now)
        tokens = min(float(BURST), tokens + max(0.0, now - since) / EVERY_S)
        passes = tokens >= 1.0
        self._buckets.put(key, (tokens - 1.0 if passes else tokens, now))
        return passes
