"""A micro run against a stored baseline: `python -m podherd.benchmarks.compare [RUN] [BASELINE]`; exit 1 on a regress.

Only ratios are compared, each function's to its own reference in the same run: they hold on another machine, where
absolute times do not. A ratio may fall by the noise bound; a row of the baseline that is missing is a regress too.
"""

import argparse
import json
import sys
from pathlib import Path

from podherd.benchmarks.micro.report import DEFAULT

BASELINE = Path(__file__).parent / "baselines" / "micro.json"
NOISE = 0.35
"""The part of a ratio that may be lost to noise; a row of the baseline may carry its own as `noise`."""


def load(path: Path) -> dict[str, dict[str, float]]:
    """Rows of a results file by name."""
    rows = json.loads(path.read_text(encoding="utf-8"))["results"]
    return {row["name"]: row for row in rows}


def regresses(run: dict[str, dict[str, float]], baseline: dict[str, dict[str, float]]) -> list[str]:
    """A line for each row that lost more than noise, or was not run."""
    lines = []
    for name, old in baseline.items():
        least = old["ratio"] * (1 - old.get("noise", NOISE))
        if name not in run:
            lines.append(f"{name}: not in this run")
        elif run[name]["ratio"] < least:
            lines.append(f"{name}: ratio {run[name]['ratio']:.2f}, baseline {old['ratio']:.2f}, at least {least:.2f}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Compare and print; 0 fine, 1 regress, 2 a file that cannot be read."""
    parser = argparse.ArgumentParser(
        prog="podherd.benchmarks.compare", description="Compare a micro run with a baseline"
    )
    parser.add_argument("run", type=Path, nargs="?", default=DEFAULT)
    parser.add_argument("baseline", type=Path, nargs="?", default=BASELINE)
    chosen = parser.parse_args(arguments)
    try:
        run, baseline = load(chosen.run), load(chosen.baseline)
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"cannot be read: {error}; run `python -m podherd.benchmarks.micro` first\n")
        return 2
    lost = regresses(run, baseline)
    sys.stdout.write(
        "".join(f"REGRESS {line}\n" for line in lost) or f"{len(baseline)} rows within noise of the baseline\n"
    )
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
