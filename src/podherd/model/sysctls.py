"""Which kernel parameters a pod may set (kubelet behaviour, section 3.11).

A safe one lives in a namespace of the pod and touches no other pod; since which kernel, Kubernetes' documentation of
sysctls and the kernel's history tell. Others have to be allowed by the node's configuration. Both must be of a
namespace that the pod does not share with the host.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

Kernel = tuple[int, int]
"""Major and minor version."""
FORBIDDEN = "SysctlForbidden"
"""The kubelet's reason for a pod that asks for one that it may not set."""
SAFE: Mapping[str, Kernel] = MappingProxyType({
    "kernel.shm_rmid_forced": (0, 0),
    "net.ipv4.ip_local_port_range": (0, 0),
    "net.ipv4.tcp_syncookies": (0, 0),
    "net.ipv4.ping_group_range": (0, 0),
    "net.ipv4.ip_unprivileged_port_start": (0, 0),
    "net.ipv4.ip_local_reserved_ports": (3, 16),
    "net.ipv4.tcp_keepalive_time": (4, 5),
    "net.ipv4.tcp_keepalive_intvl": (4, 5),
    "net.ipv4.tcp_keepalive_probes": (4, 5),
    "net.ipv4.tcp_fin_timeout": (4, 6),
    "net.ipv4.tcp_notsent_lowat": (4, 6),
    "net.ipv4.tcp_rmem": (4, 15),
    "net.ipv4.tcp_wmem": (4, 15),
    "net.ipv4.tcp_slow_start_after_idle": (4, 15),
})  # fmt: skip
"""Safe names, and the first kernel that keeps each one apart for every network or IPC namespace."""
_IPC = frozenset({
    "kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm_rmid_forced", "kernel.shm",
    "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni", "kernel.msg",
})  # fmt: skip
_SWAP = str.maketrans("/.", "./")


def dotted(name: str) -> str:
    """The name with dots, also of one written with slashes: a dot inside an interface name is then a slash."""
    slash, dot = name.find("/"), name.find(".")
    return name.translate(_SWAP) if slash >= 0 and (dot < 0 or slash < dot) else name


def namespace_of(name: str) -> str:
    """`IPC`, `Net`, `UTS` or `User`; empty for a name that no namespace keeps apart. A pattern ends in `*`."""
    word = dotted(name).partition("*")[0]
    if word in _IPC or word.startswith("fs.mqueue."):
        return "IPC"
    if word == "kernel.domainname":
        return "UTS"
    return "Net" if word.startswith("net.") else "User" if word.startswith("user.") else ""


def forbidden(spec: Mapping[str, Any], allowed: Iterable[str], kernel: Kernel) -> str:
    """Why the first sysctl of this v1.PodSpec that may not be set may not be, in the kubelet's words; else empty.

    allowed: names, or prefixes that end in `*`, beside the safe ones. kernel: (0, 0) when it is not known.
    """
    sysctls = (spec.get("securityContext") or {}).get("sysctls")
    if not sysctls:
        return ""
    shared = {"Net": spec.get("hostNetwork"), "IPC": spec.get("hostIPC"), "User": spec.get("hostUsers", True)}
    for sysctl in sysctls:
        name = dotted(sysctl["name"])
        if not _is_listed(name, allowed, kernel):
            return f'forbidden sysctl: "{name}" not allowlisted'
        if shared.get(space := namespace_of(name)):
            return f'forbidden sysctl: "{name}" not allowed with host {space} enabled'
    return ""


def _is_listed(name: str, allowed: Iterable[str], kernel: Kernel) -> bool:
    if (since := SAFE.get(name)) is not None and kernel >= since:
        return True
    patterns = map(dotted, allowed)
    return any(name.startswith(word[:-1]) if word.endswith("*") else name == word for word in patterns)
