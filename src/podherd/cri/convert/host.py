"""What conversion must know of the machine, read once by whoever calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Host:
    """Facts of this node.

    memory_bytes: the node's memory capacity, for oom_score_adj. cpu_milli: CPUs times 1000. resolv_conf: the text of
    the file that `settings.resolv_conf` names. ips: the node's addresses (`status.hostIPs`).
    hugepage_sizes: CRI names, `2MB`. cgroup_v2: the runtime's containers are on the unified hierarchy.
    thermal_paths: per-CPU thermal_throttle directories, to be masked. storage_bytes: size of the file system of the
    root directory. allocatable: of the node, resource to amount as `model.resources` counts it; empty when the
    node has told none. kernel: major and minor version, (0, 0) when it is not known. swap: cgroups can limit swap here.
    """

    memory_bytes: int
    cpu_milli: int = 0
    resolv_conf: str = ""
    ips: tuple[str, ...] = ()
    hugepage_sizes: tuple[str, ...] = ()
    cgroup_v2: bool = False
    thermal_paths: tuple[str, ...] = ()
    storage_bytes: int = 0
    kernel: tuple[int, int] = (0, 0)
    swap: bool = False
    allocatable: Mapping[str, int] = field(default_factory=dict)
