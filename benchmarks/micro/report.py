"""Results as a table for people and as JSON for `benchmarks.compare`."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from podherd.benchmarks.micro.timing import Result

DEFAULT = Path("bench-results/micro.json")


def machine() -> dict[str, Any]:
    """What a figure depends on: CPU model, cores, Python."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def as_json(results: Iterable[Result]) -> dict[str, Any]:
    """The file's content; times in milliseconds."""
    rows = [
        {
            "name": result.name,
            "median_ms": round(result.own.median_ms, 4),
            "min_ms": round(result.own.min_ms, 4),
            "wall_median_ms": round(result.own.wall_ms, 4),
            "runs": result.own.runs,
            "reference": result.reference,
            "reference_min_ms": round(result.reference_min_ms, 4),
            "ratio": round(result.ratio, 3),
            "limit_ms": result.limit_ms,
            "least_ratio": result.least_ratio,
            "passed": result.passed,
        }
        for result in results
    ]
    return {"machine": machine(), "results": rows}


def as_table(results: Iterable[Result]) -> str:
    """One line a result: median and least CPU time, median by the clock, the ratio, the target, pass or miss."""
    lines = [f"{'':82} {'median':>9} {'min':>9} {'wall':>9} {'ratio':>8}  target"]
    for result in results:
        wanted = []
        if result.limit_ms is not None:
            wanted.append(f"<= {result.limit_ms:g} ms")
        if result.least_ratio is not None:
            wanted.append(f">= {result.least_ratio:g}x")
        verdict = f"{', '.join(wanted)}: {'pass' if result.passed else 'MISS'}" if wanted else "-"
        own = result.own
        times = f"{own.median_ms:6.2f} ms {own.min_ms:6.2f} ms {own.wall_ms:6.2f} ms {result.ratio:7.2f}x"
        lines.append(f"{result.name:82} {times}  {verdict}")
    return "\n".join(lines) + "\n"


def main(what: str, results: Callable[[], list[Result]]) -> int:
    """The command line of a micro benchmark: 0 when every target was met, else 1."""
    parser = argparse.ArgumentParser(prog=f"podherd.benchmarks.micro.{what}", description=f"Micro benchmark: {what}")
    parser.add_argument(
        "--json", type=Path, default=DEFAULT, metavar="FILE", help=f"where to write (default {DEFAULT})"
    )
    out = parser.parse_args().json
    facts = machine()
    sys.stdout.write(f"{facts['cpu']}, {facts['cores']} cores, Python {facts['python']}; CPU time of the thread\n")
    found = results()
    sys.stdout.write(as_table(found))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(as_json(found), indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(f"written to {out}\n")
    return 0 if all(result.passed for result in found) else 1
