"""`podherd bench start`: static pods from one directory to all Running, then the cost of holding them.

CPU is of all podherd and Ray processes (the agent's whole process tree); the hollow runtime is counted apart.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from podherd.benchmarks.node import cpu, herd

START_TARGET_PODS_PER_S = 200.0
START_TARGET_CPU_MS = 4.0
GROWTH_TARGET = 1.3
MOST_PODS = 20_000
TARGETS = (
    f"Targets: at least {START_TARGET_PODS_PER_S:.0f} pods/s, at most {START_TARGET_CPU_MS:.0f} ms of CPU a pod,"
    f" growth (CPU a pod against the first run) at most {GROWTH_TARGET}x; steady at most 0.12 core at 1,000 pods and"
    " 0.2 at 5,000."
)
SETTLE_S = 3.0
"""After the first healthy answer: what the actors' own start still costs is not the pods' cost."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One run. cpu_ms is per pod and over the start alone; steady figures are in cores."""

    pods: int
    ready_s: float
    start_s: float
    pods_per_s: float
    cpu_ms: float
    hollow_cpu_ms: float
    steady_cores: float
    hollow_steady_cores: float
    pss_mib: float
    processes: int


def measure(pods: int, steady_s: float, shards: int, console: Console) -> Figures:
    """Start an agent, give it `pods` manifests, wait for all Running, then watch it idle for `steady_s`."""
    begin = time.monotonic()
    with herd.running(shards) as running:
        ready_s = time.monotonic() - begin
        time.sleep(SETTLE_S)
        console.print(f"agent ready after {ready_s:.1f} s; starting {pods} pods")
        before, hollow_before = cpu.use_of(running.agent.pid), cpu.use_of(running.hollow.pid)
        names_before = cpu.by_name(running.agent.pid, running.actors())
        begin = time.monotonic()
        herd.add_pods(running, pods)
        herd.wait_for(lambda: _running(running) >= pods, f"{pods} pods Running", 60 + pods / 10)
        start_s = time.monotonic() - begin
        after, hollow_after = cpu.use_of(running.agent.pid), cpu.use_of(running.hollow.pid)
        _print_split(console, names_before, cpu.by_name(running.agent.pid, running.actors()), pods)
        steady, hollow_steady, pss = _steady(running, steady_s, console)
        return Figures(
            pods, ready_s, start_s, pods / start_s,
            1000 * (after.cpu_s - before.cpu_s) / pods, 1000 * (hollow_after.cpu_s - hollow_before.cpu_s) / pods,
            steady, hollow_steady, pss / 2**20, after.processes,
        )  # fmt: skip


def _running(running: herd.Herd) -> int:
    summary = running.summary()
    return 0 if summary is None else int(summary["phases"].get("Running", 0))


def _steady(running: herd.Herd, seconds: float, console: Console) -> tuple[float, float, int]:
    """Cores of the agent and of the hollow runtime over `seconds`, after a pause to settle, and the agent's PSS."""
    time.sleep(min(5.0, seconds))
    before, hollow_before = cpu.use_of(running.agent.pid), cpu.use_of(running.hollow.pid)
    names_before = cpu.by_name(running.agent.pid, running.actors())
    begin = time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - begin
    after, hollow_after = cpu.use_of(running.agent.pid), cpu.use_of(running.hollow.pid)
    names = cpu.by_name(running.agent.pid, running.actors())
    split = {name: (used - names_before.get(name, 0.0)) / elapsed for name, used in names.items()}
    console.print("steady cores: " + ", ".join(f"{n} {u:.3f}" for n, u in _told(split)))
    return (
        (after.cpu_s - before.cpu_s) / elapsed,
        (hollow_after.cpu_s - hollow_before.cpu_s) / elapsed,
        after.pss_bytes,
    )


def _told(split: dict[str, float]) -> list[tuple[str, float]]:
    """Largest first; what rounds to nothing is left out."""
    return sorted(((name, used) for name, used in split.items() if used >= 0.0005), key=lambda item: -item[1])


def _print_split(console: Console, before: dict[str, float], after: dict[str, float], pods: int) -> None:
    split = {name: 1000 * (used - before.get(name, 0.0)) / pods for name, used in after.items()}
    console.print("start, CPU ms a pod: " + ", ".join(f"{n} {u:.2f}" for n, u in _told(split)))


def _counts(text: str) -> list[int]:
    """`300,1000` as numbers. Raises argparse's error for what is no count of pods."""
    counts = [int(word) if word.strip().isdecimal() else 0 for word in text.split(",")]
    if not all(1 <= count <= MOST_PODS for count in counts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of counts from 1 to {MOST_PODS}, such as 300,1000")
    return counts


def _verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def table_of(runs: list[Figures]) -> Table:
    """The figures beside their targets, growth against the first run."""
    table = Table("pods", "start", "pods/s", "CPU a pod", "growth", "steady", "hollow CPU", "PSS", "agent ready")
    for run in runs:
        growth = run.cpu_ms / runs[0].cpu_ms
        table.add_row(
            str(run.pods),
            f"{run.start_s:.2f} s",
            f"{run.pods_per_s:.0f} ({_verdict(run.pods_per_s >= START_TARGET_PODS_PER_S)})",
            f"{run.cpu_ms:.2f} ms ({_verdict(run.cpu_ms <= START_TARGET_CPU_MS)})",
            f"{growth:.2f}x ({_verdict(growth <= GROWTH_TARGET)})",
            f"{run.steady_cores:.3f} core",
            f"{run.hollow_cpu_ms:.2f} ms, {run.hollow_steady_cores:.3f} core",
            f"{run.pss_mib:.0f} MiB",
            f"{run.ready_s:.1f} s",
        )
    return table


def main(arguments: list[str] | None = None) -> int:
    """Run the scenario for each pod count in turn and print the table; 0 when it ran."""
    parser = argparse.ArgumentParser(prog="podherd bench start", description=__doc__)
    counted = "pod counts of the runs, separated by commas (default: %(default)s)"
    parser.add_argument("--pods", type=_counts, default="1000", metavar="N[,N…]", help=counted)
    parser.add_argument("--steady", type=float, default=30.0, help="seconds to watch the idle agent (default: 30)")
    parser.add_argument("--shards", type=int, default=2, help="pod shards of the agent (default: 2)")
    parser.add_argument("--runtime", choices=["hollow"], default="hollow", help="what runs the pods (default: hollow)")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    options = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 180)
    runs = [measure(count, options.steady, options.shards, console) for count in options.pods]
    console.print(table_of(runs))
    console.print(TARGETS)
    if options.json:
        options.json.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
