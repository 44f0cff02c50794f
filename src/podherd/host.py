"""This machine, as every room below and above asks for it: memory, CPUs, architecture, addresses."""

import fcntl
import os
import socket
import struct
from collections.abc import Iterator
from functools import cache

_SIOCGIFADDR = 0x8915
_ROUTED = ("192.0.2.1", 9)
"""An address that no network has (RFC 5737): the route to it is the default route. Nothing is sent."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""The kernel's names to Go's, which images and nodes carry."""


@cache
def memory_bytes() -> int:
    """All memory of the node."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


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
