"""When container events are worth reading: on a calm node they save up to a relist period, in a rush they only cost."""

from dataclasses import dataclass

WINDOW_S = 1.0
MOST = 20
"""More events than this in a window are a flood: the relists see them all anyway, for a fraction of the cost."""
PAUSE_S = 10.0


@dataclass(slots=True)
class Hints:
    """Counts events. Pure: times come in."""

    began_at: float = float("-inf")
    count: int = 0

    def is_flood(self, now: float) -> bool:
        """Note one more event; whether to stop reading for PAUSE_S."""
        if not self.began_at <= now < self.began_at + WINDOW_S:
            self.began_at, self.count = now, 0
        self.count += 1
        return self.count > MOST
