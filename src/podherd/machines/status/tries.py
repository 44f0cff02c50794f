"""When a request may be made again: after a failure, and when it was made before and did not last."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podherd.machines.pod.policy import spread

FAIL_FIRST_S = 1.0
FAIL_MOST_S = 60.0
REPEAT_FIRST_S = 10.0
"""The kubelet's own pause between looks at what the API server made of a status (kubelet behaviour, section 6.4)."""
REPEAT_MOST_S = 300.0
FORGIVEN_S = 600.0
Patch = Mapping[str, Any]


@dataclass(slots=True)
class Failures:
    """Requests of one pod that failed in a row. until: before it none is made."""

    count: int = 0
    until: float = 0.0
    unanswered: bool = False
    """The last one had no answer at all: once the server answers anybody, it is tried again at once."""
    conflict: bool = False
    """The object was another by then: once it is known, it is tried again at once."""

    def add(self, key: str, now: float, retry_after_s: float, unanswered: bool) -> None:
        """One more. key: spreads the pauses of many pods."""
        pause_s = min(FAIL_FIRST_S * 2 ** min(self.count, 10), FAIL_MOST_S) * spread(key)
        self.count += 1
        self.until = now + max(pause_s, retry_after_s)
        self.unanswered = unanswered
        self.conflict = False

    def forget(self) -> None:
        """A request succeeded."""
        self.count, self.until = 0, 0.0


@dataclass(slots=True)
class Repeats:
    """The last change of a status, and how often it was made in a row: somebody may not let it stand."""

    patch: Patch | None = None
    count: int = 0
    at: float = 0.0

    def due(self, patch: Patch, key: str) -> float:
        """When this patch may be made: at once for another one than the last, and once more after a first."""
        if patch != self.patch or self.count == 0:
            return 0.0
        pause_s = float(min(REPEAT_FIRST_S * 2 ** min(self.count - 1, 10), REPEAT_MOST_S))
        return self.at + pause_s * spread(key)

    def made(self, patch: Patch, now: float) -> None:
        """It goes out."""
        again = patch == self.patch and now - self.at < FORGIVEN_S
        self.patch, self.count, self.at = patch, self.count + 1 if again else 0, now

    def left(self, rest: Patch | None) -> None:
        """The server took it but for this, which it may never take; None: all of it."""
        if rest is not None:
            self.patch, self.count = rest, max(self.count, 1)
