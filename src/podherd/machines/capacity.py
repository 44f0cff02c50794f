"""What the node has and what of it pods may have (kubelet behaviour, section 7). Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from podherd.model.quantity import bytes_of, milli_of

DEFAULT_EVICTION = {"memory.available": "100Mi", "nodefs.available": "10%"}
"""Hard thresholds that are kept back from pods (section 8.1); others are not."""
_SIGNAL_OF = {"memory": "memory.available", "ephemeral-storage": "nodefs.available"}
HUGEPAGES = "hugepages-"

Quantities: TypeAlias = dict[str, str | None]
"""Resource to quantity, in a patch; None takes it away."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """What this machine has. hugepages: CRI size (`2MB`) to bytes that are set aside."""

    cpus: int
    memory_bytes: int
    storage_bytes: int
    pods: int
    hugepages: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Reserve:
    """What is kept back. kube, system: resource to quantity; eviction: signal to quantity or percentage."""

    kube: Mapping[str, str] = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)
    eviction: Mapping[str, str] = field(default_factory=dict)


def capacity(amounts: Amounts) -> dict[str, str]:
    """`status.capacity`."""
    return {
        "cpu": str(amounts.cpus),
        "ephemeral-storage": f"{amounts.storage_bytes // 1024}Ki",
        **_hugepages(amounts),
        "memory": f"{amounts.memory_bytes // 1024}Ki",
        "pods": str(amounts.pods),
    }


def allocatable(amounts: Amounts, reserve: Reserve) -> dict[str, str]:
    """`status.allocatable`: capacity without what is reserved and the hard eviction thresholds, at least 0."""
    kept_milli = sum(milli_of(each.get("cpu", "0")) for each in (reserve.kube, reserve.system))
    cpu_milli = max(0, 1000 * amounts.cpus - kept_milli)
    memory = _left(amounts.memory_bytes, "memory", reserve) - sum(size for _, size in amounts.hugepages)
    storage = _left(amounts.storage_bytes, "ephemeral-storage", reserve)
    pages = {name: str(_left(int(total), name, reserve)) for name, total in _hugepages(amounts).items()}
    return {
        "cpu": str(cpu_milli // 1000) if cpu_milli % 1000 == 0 else f"{cpu_milli}m",
        "ephemeral-storage": str(storage),
        **pages,
        "memory": f"{max(0, memory) // 1024}Ki",
        "pods": str(amounts.pods),
    }


def extended(resources: Mapping[str, str]) -> dict[str, str]:
    """Those that neither Kubernetes nor this machine knows: whoever has them tells of them (`example.com/dongle`)."""
    return {name: amount for name, amount in resources.items() if _is_extended(name)}


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def gone(there: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, None]:
    """What a patch has to take away: sizes of huge pages, and extended resources, that stand there and are no more."""
    leaving = (name for name in there if name not in wanted)
    return {name: None for name in leaving if name.startswith(HUGEPAGES) or _is_extended(name)}


def present(patch: Quantities) -> dict[str, str]:
    """What stands once the patch is made."""
    return {name: amount for name, amount in patch.items() if amount is not None}


def _hugepages(amounts: Amounts) -> dict[str, str]:
    return {f"{HUGEPAGES}{size.removesuffix('B')}i": str(total) for size, total in amounts.hugepages}


def _left(total: int, resource: str, reserve: Reserve) -> int:
    kept = sum(bytes_of(each.get(resource, "0")) for each in (reserve.kube, reserve.system))
    threshold = reserve.eviction.get(_SIGNAL_OF.get(resource, ""), "0")
    if threshold.endswith("%"):
        kept += int(total * float(threshold.removesuffix("%")) / 100)
    else:
        kept += bytes_of(threshold)
    return max(0, total - kept)
