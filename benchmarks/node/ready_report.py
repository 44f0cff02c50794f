"""What the times of `podherd bench ready` come to: figures by node, as a table for people and as JSON.

The rows are those of the micro benchmarks as `benchmarks.compare` reads them: a ratio that falls is a regress.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

TARGET = 1.1
"""The first node may take at most so many times what the second takes, by the medians."""
NOISE = 0.35
"""The part of a ratio that may be lost to noise before `benchmarks.compare` calls it a regress."""
Times = Mapping[str, Sequence[float]]
"""Seconds from creation to Ready of every counted pod, by node; at least one each."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one node and one kind of pod, in seconds."""

    pods: int
    median_s: float
    p90_s: float
    least_s: float
    most_s: float


def figures(times_s: Sequence[float]) -> Figures:
    """Of at least one time. p90: the time that at most a tenth of the pods took longer than."""
    ordered = sorted(times_s)
    p90 = ordered[-(-9 * len(ordered) // 10) - 1]
    return Figures(len(ordered), statistics.median(ordered), p90, ordered[0], ordered[-1])


def ratio(times: Times) -> float:
    """The median of the node named first by that of the node named last."""
    medians = [figures(each).median_s for each in times.values()]
    return medians[0] / medians[-1]


def passed(kinds: Mapping[str, Times]) -> bool:
    """Whether the first node keeps the target with every kind of pod."""
    return all(ratio(times) <= TARGET for times in kinds.values())


def table_of(kinds: Mapping[str, Times]) -> Table:
    """A row for each kind of pod and node, with its ratio to the node named last."""
    verdict = "pass" if passed(kinds) else "MISS"
    caption = f"Target: the first node at most {TARGET}x the last one's median: {verdict}"
    table = Table(title="creation to Ready, one pod at a time", caption=caption)
    for head in ("pod", "node", "pods", "median s", "p90 s", "least s", "most s", "ratio"):
        table.add_column(head, justify="left" if head in ("pod", "node") else "right")
    for kind, times in kinds.items():
        last = figures(list(times.values())[-1]).median_s
        for node, each in times.items():
            of = figures(each)
            cells = [f"{value:.3f}" for value in (of.median_s, of.p90_s, of.least_s, of.most_s)]
            table.add_row(kind, node, str(of.pods), *cells, f"{of.median_s / last:.2f}")
    return table


def as_json(kinds: Mapping[str, Times], machine: Mapping[str, Any]) -> dict[str, Any]:
    """The results file. ratio: the last node's median by the first one's, so that more is better, as elsewhere."""
    return {"machine": dict(machine), "results": [_row(kind, times) for kind, times in kinds.items()]}


def _row(kind: str, times: Times) -> dict[str, Any]:
    own, reference = (figures(list(times.values())[place]) for place in (0, -1))
    return {
        "name": f"creation to Ready: {kind}",
        "median_ms": round(own.median_s * 1000, 1),
        "p90_ms": round(own.p90_s * 1000, 1),
        "min_ms": round(own.least_s * 1000, 1),
        "runs": own.pods,
        "reference": list(times)[-1],
        "reference_median_ms": round(reference.median_s * 1000, 1),
        "reference_p90_ms": round(reference.p90_s * 1000, 1),
        "ratio": round(reference.median_s / own.median_s, 3),
        "least_ratio": round(1 / TARGET, 3),
        "noise": NOISE,
        "passed": ratio(times) <= TARGET,
    }
