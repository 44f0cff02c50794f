"""Facts of this machine that conversion wants as a `Host`: read once, but for resolv.conf and the addresses."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from podherd.cri.convert import Host
from podherd.host import cpu_count, memory_bytes, node_ips
from podherd.model.settings import Settings


class HostFacts:
    """`now()` is the machine as it stands; it costs one stat call."""

    def __init__(self, settings: Settings, sys: Path = Path("/sys")) -> None:
        self._path = settings.resolv_conf
        self._stamp: tuple[int, int, int] | None = None
        self._host = Host(
            memory_bytes=memory_bytes(),
            cpu_milli=1000 * cpu_count(),
            ips=node_ips(),
            hugepage_sizes=tuple(sorted(_hugepage_sizes(sys))),
            cgroup_v2=(sys / "fs/cgroup/cgroup.controllers").exists(),
            thermal_paths=tuple(sorted(map(str, sys.glob("devices/system/cpu/cpu*/thermal_throttle")))),
        )

    def use_ips(self, ips: tuple[str, ...]) -> None:
        """The node's addresses have changed."""
        self._host = replace(self._host, ips=ips)

    def now(self) -> Host:
        """With the text that the resolver file has now; a file that cannot be read counts as empty."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._stamp = stamp
            self._host = replace(self._host, resolv_conf=_text(self._path))
        return self._host


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def _text(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace") if path else ""
    except OSError:
        return ""


def _hugepage_sizes(sys: Path) -> Iterator[str]:
    """`hugepages-2048kB` -> `2MB`, the CRI's spelling."""
    for entry in (sys / "kernel/mm/hugepages").glob("hugepages-*kB"):
        size_kb = int(entry.name.removeprefix("hugepages-").removesuffix("kB"))
        units = [("GB", 1 << 20), ("MB", 1 << 10), ("KB", 1)]
        name, per_unit = next((name, kb) for name, kb in units if size_kb % kb == 0)
        yield f"{size_kb // per_unit}{name}"
