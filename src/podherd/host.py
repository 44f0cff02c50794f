"""This machine, as every room below and above asks for it: memory, CPUs, architecture, addresses."""

import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_SIOCGIFADDR = 0x8915
_ROUTED = ("192.0.2.1", 9)
"""An address that no network has (RFC 5737): the route to it is the default route. Nothing is sent."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""The kernel's names to Go's, which images and nodes carry."""


@cache
def memory_bytes() -> int:
    """All memory of the node."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def storage_bytes(path: Path) -> int:
    """Size of the file system on which the path lies, or will once it is made."""
    while not path.exists():
        path = path.parent
    facts = os.statvfs(path)
    return facts.f_frsize * facts.f_blocks


def swap_bytes() -> int:
    """All swap of the node; 0 where it has none."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("SwapTotal:")), 0)


def hugepages(sys: Path = Path("/sys")) -> tuple[tuple[str, int], ...]:
    """Each size that the kernel has, as `2MB`, and the bytes that are set aside in it."""
    found: list[tuple[int, int]] = []
    for entry in (sys / "kernel/mm/hugepages").glob("hugepages-*kB"):
        size_kb = int(entry.name.removeprefix("hugepages-").removesuffix("kB"))
        try:
            found.append((size_kb, int((entry / "nr_hugepages").read_text()) * size_kb * 1024))
        except (OSError, ValueError):
            found.append((size_kb, 0))
    return tuple((_size_name(size_kb), total) for size_kb, total in sorted(found))


def _size_name(size_kb: int) -> str:
    units = (("GB", 1 << 20), ("MB", 1 << 10), ("KB", 1))
    return next(f"{size_kb // unit}{name}" for name, unit in units if size_kb % unit == 0)


def cgroup_v1() -> bool:
    """Whether the kernel's cgroups are on the older hierarchies."""
    return not Path("/sys/fs/cgroup/cgroup.controllers").exists()


def cpu_count() -> int:
    """How many CPUs are online."""
    return os.cpu_count() or 1


def architecture() -> str:
    """The machine's kind, such as `amd64`."""
    machine = os.uname().machine
    return _ARCHITECTURES.get(machine, machine)


def node_ips() -> tuple[str, ...]:
    """The node's address: the source of its default route, else the first interface's that is not loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ROUTED)
            return (probe.getsockname()[0],)
        except OSError:
            return next(((ip,) for ip in _interface_ips(probe) if not ip.startswith("127.")), ("127.0.0.1",))


def _interface_ips(probe: socket.socket) -> Iterator[str]:
    for _, name in socket.if_nameindex():
        try:
            reply = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
        except OSError:
            continue
        yield socket.inet_ntoa(reply[20:24])
