"""When Ray is built again after a death: at once, then ever later, until it has been well for a while."""

FIRST_S = 0.5
LONGEST_S = 10.0
WELL_S = 60.0
"""A life this long ends a row of failures."""


class BackOff:
    """0, 0.5, 1, 2 … 10 s. Pure: times come in."""

    def __init__(self) -> None:
        self._failures = 0

    def after_death(self, born_at: float, died_at: float) -> float:
        """Seconds to wait before the next life."""
        self._failures = 1 if died_at - born_at >= WELL_S else self._failures + 1
        if self._failures == 1:
            return 0.0
        return float(min(FIRST_S * 2.0 ** (self._failures - 2), LONGEST_S))
