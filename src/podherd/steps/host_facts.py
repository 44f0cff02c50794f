"""Facts of this machine that conversion wants as a `Host`: read once, but for resolv.conf and the addresses."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from podherd.cri.convert import Host
from podherd.host import cpu_count, memory_bytes, node_ips, storage_bytes
from podherd.model.quantity import QuantityError, bytes_of, milli_of
from podherd.model.settings import Settings


class HostFacts:
    """`now()` is the machine as it stands; it costs one stat call."""

    def __init__(self, settings: Settings, sys: Path = Path("/sys")) -> None:
        self._path = settings.resolv_conf
        self._stamp: tuple[int, int, int] | None = None
        self._host = Host(
            memory_bytes=memory_bytes(),
            cpu_milli=1000 * cpu_count(),
            ips=settings.node_ips or node_ips(),
            hugepage_sizes=tuple(sorted(_hugepage_sizes(sys))),
            cgroup_v2=(sys / "fs/cgroup/cgroup.controllers").exists(),
            thermal_paths=tuple(sorted(map(str, sys.glob("devices/system/cpu/cpu*/thermal_throttle")))),
            storage_bytes=storage_bytes(settings.root_dir),
            kernel=_kernel(os.uname().release),
            swap=_limits_swap(sys / "fs/cgroup"),
        )

    def use_ips(self, ips: tuple[str, ...]) -> None:
        """The node's addresses have changed."""
        self._host = replace(self._host, ips=ips)

    def use_allocatable(self, given: Mapping[str, str]) -> None:
        """What the node offers to pods has changed; a quantity that cannot be read counts as not told."""
        amounts: dict[str, int] = {}
        for name, text in given.items():
            with suppress(QuantityError):
                amounts[name] = milli_of(text) if name == "cpu" else bytes_of(text)
        self._host = replace(self._host, allocatable=amounts)

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


def _kernel(release: str) -> tuple[int, int]:
    """`6.1.0-13-amd64` -> (6, 1); (0, 0) for a name of another form."""
    found = re.match(r"(\d+)\.(\d+)", release)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _limits_swap(cgroups: Path) -> bool:
    """Whether the kernel counts swap for cgroups; the root cgroup of v2 has no such file, its children have."""
    if (cgroups / "cgroup.controllers").exists():
        return next(cgroups.glob("*/memory.swap.max"), None) is not None
    return (cgroups / "memory/memory.memsw.limit_in_bytes").exists()


def _hugepage_sizes(sys: Path) -> Iterator[str]:
    """`hugepages-2048kB` -> `2MB`, the CRI's spelling."""
    for entry in (sys / "kernel/mm/hugepages").glob("hugepages-*kB"):
        size_kb = int(entry.name.removeprefix("hugepages-").removesuffix("kB"))
        units = [("GB", 1 << 20), ("MB", 1 << 10), ("KB", 1)]
        name, per_unit = next((name, kb) for name, kb in units if size_kb % kb == 0)
        yield f"{size_kb // per_unit}{name}"
