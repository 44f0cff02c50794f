"""CPU seconds and memory of a whole process tree, from /proc (proc(5)); nothing is estimated."""

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Use:
    """What a tree has used: CPU seconds so far (its reaped children too), proportional set size now."""

    cpu_s: float
    pss_bytes: int
    processes: int


def _stat(pid: int) -> tuple[int, float] | None:
    """Parent pid and CPU seconds (own, and of reaped children) of a process; None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    after_name = text.rsplit(")", 1)[1].split()
    return int(after_name[1]), sum(int(ticks) for ticks in after_name[11:15]) * _TICK_S


def _pss_bytes(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def tree(root: int) -> dict[int, float]:
    """CPU seconds of `root` and of every living descendant, by pid."""
    children: dict[int, list[int]] = defaultdict(list)
    cpu: dict[int, float] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (found := _stat(int(entry))) is not None:
            children[found[0]].append(int(entry))
            cpu[int(entry)] = found[1]
    result: dict[int, float] = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        if pid in cpu:
            result[pid] = cpu[pid]
            waiting.extend(children[pid])
    return result


def use_of(root: int) -> Use:
    """What the tree under `root` has used."""
    cpu = tree(root)
    return Use(sum(cpu.values()), sum(_pss_bytes(pid) for pid in cpu), len(cpu))


def by_name(root: int, known: Mapping[int, str]) -> dict[str, float]:
    """CPU seconds of the tree's processes by the name in `known`, else by command (`raylet`, `gcs_server`…)."""
    result: dict[str, float] = defaultdict(float)
    for pid, seconds in tree(root).items():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        title = words[0].decode(errors="replace").split(" ")[0]
        module = words[words.index(b"-m") + 1].decode() if b"-m" in words else ""
        result[known.get(pid) or module or title.rsplit("/", 1)[-1] or str(pid)] += seconds
    return dict(result)
