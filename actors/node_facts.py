"""What this machine is, for its Node object (kubelet behaviour, section 7)."""

import os
from pathlib import Path

from podherd import __version__
from podherd.host import architecture, cpu_count, hugepages, memory_bytes, node_ips, storage_bytes, swap_bytes
from podherd.machines.capacity import DEFAULT_EVICTION, Amounts, Reserve
from podherd.machines.node import Facts
from podherd.model.settings import Settings

KUBELET = "v1.37.2"
"""The kubelet that this one behaves as: clients of the API compare the node's version with others."""
_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")
_SYSTEM_UUIDS = (
    "/sys/class/dmi/id/product_uuid", "/proc/device-tree/system-id", "/proc/device-tree/vm,uuid", "/etc/machine-id",
)  # fmt: skip
"""Where cAdvisor looks, in its order."""


def facts_of(settings: Settings) -> Facts:
    """This machine as it is now."""
    hostname = settings.hostname_override or settings.node_name
    return Facts(
        node_name=settings.node_name,
        hostname=hostname,
        ips=settings.node_ips or node_ips(),
        amounts=_amounts(settings),
        info=_info(),
        reserve=_reserve(settings),
        given_labels=settings.node_labels,
        taints=settings.node_taints,
        port=settings.port,
        provider_id=settings.provider_id,
        attach_detach=settings.controller_attach_detach,
        most_images=settings.node_status_max_images,
        swap_bytes=swap_bytes(),
        shards=settings.shards if settings.serves_api else 0,
    )


def _info() -> dict[str, str]:
    """v1.NodeSystemInfo, without the runtime's part."""
    return {
        "machineID": _first_line(*_MACHINE_IDS),
        "systemUUID": _first_line(*_SYSTEM_UUIDS),
        "bootID": _first_line("/proc/sys/kernel/random/boot_id"),
        "kernelVersion": os.uname().release,
        "osImage": _os_image(),
        "kubeletVersion": f"{KUBELET}+podherd-{__version__}",
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": architecture(),
    }


def _amounts(settings: Settings) -> Amounts:
    cpus, pods = cpu_count(), settings.pods_capacity
    if settings.pods_per_core:
        pods = min(pods, settings.pods_per_core * cpus)
    return Amounts(cpus, memory_bytes(), storage_bytes(settings.root_dir), pods, hugepages())


def _reserve(settings: Settings) -> Reserve:
    eviction = dict(settings.eviction_hard) or (DEFAULT_EVICTION if settings.serves_api else {})
    return Reserve(dict(settings.kube_reserved), dict(settings.system_reserved), eviction)


def _first_line(*paths: str) -> str:
    """Of the first file that can be read; empty for none."""
    for path in paths:
        try:
            return Path(path).read_text().partition("\n")[0].strip("\0 \t")
        except OSError:
            continue
    return ""


def _os_image() -> str:
    """PRETTY_NAME of os-release(5)."""
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return "Linux"
    return next((line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME=")), "Linux")
