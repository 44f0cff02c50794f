"""The numbers of the PLEG, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """relist_s: from the end of one relist to the start of the next (kubelet behaviour, section 4).

    parallel: pods looked at at once; one that takes longer than slow_s no longer counts, up to `most`, so that hung
    pods do not hold the others. retry_s doubles to retry_most_s for a pod whose inspection fails.
    few: on-demand looks within a second that are answered by listing one pod; beyond them one early relist serves all
    that wait, no sooner after the last one than early_s and early_cost times what that one took.
    """

    shards: int
    relist_s: float = 1.0
    parallel: int = 16
    most: int = 256
    slow_s: float = 2.0
    retry_s: float = 1.0
    retry_most_s: float = 30.0
    few: int = 8
    early_s: float = 0.1
    early_cost: float = 8.0
    health_s: float = 5.0

    def retry_after_s(self, failures: int) -> float:
        """The wait after so many failures in a row (at least one)."""
        return float(min(self.retry_s * 2.0 ** (failures - 1), self.retry_most_s))
