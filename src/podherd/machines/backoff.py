"""Exponential back-off as the kubelet counts it: crash loops and image pulls (kubelet behaviour, section 3.5)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackOff:
    """Where one key stands: the delay that holds now, and when it was last raised (epoch seconds)."""

    delay_s: float
    raised_at: float


@dataclass(frozen=True, slots=True)
class BackOffRule:
    """First delay, ceiling, and how long after the last raise an event counts as the first one again."""

    start_s: float
    max_s: float
    reset_s: float

    def until(self, entry: BackOff | None, event_at: float) -> float:
        """When the next try is allowed, counted from the failure at `event_at`; 0.0: at once."""
        if entry is None or self._forgiven(entry, event_at):
            return 0.0
        return event_at + entry.delay_s

    def raised(self, entry: BackOff | None, event_at: float, now: float) -> BackOff:
        """The entry after one more try (crash loop) or failure (pull): twice the delay, or the first again."""
        if entry is None or self._forgiven(entry, event_at):
            return BackOff(min(self.start_s, self.max_s), now)
        return BackOff(min(entry.delay_s * 2, self.max_s), now)

    def _forgiven(self, entry: BackOff, event_at: float) -> bool:
        return event_at - entry.raised_at > self.reset_s
