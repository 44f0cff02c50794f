"""Where `podherd top` takes its figures from: the runtime's ListContainerStats, and this host's /proc."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from podherd.model import keys
from podherd.server.usage import Sample

if TYPE_CHECKING:
    from cri_api.v1 import api_pb2 as pb

    from podherd.cri.client import Cri

STATS_S = 20.0
PROC = Path("/proc")
_IDLE = slice(3, 5)
"""idle and iowait among the times of the first line of /proc/stat (proc_stat(5))."""
_COUNTED = slice(0, 8)
"""Without guest and guest_nice, which user and nice hold already."""


async def container_samples(cri: "Cri") -> list[Sample]:
    """Every running container that belongs to a pod. Raises CriError.

    The runtime tells of stopped ones too: earlier attempts, without figures.
    """
    from cri_api.v1 import api_pb2 as pb

    listed, stats = await asyncio.gather(cri.list_containers_raw(STATS_S), cri.container_stats(STATS_S))
    held = pb.ListContainersResponse.FromString(listed).containers
    running = {one.id for one in held if one.state == pb.CONTAINER_RUNNING and keys.POD_UID in one.labels}
    return [_sample(one) for one in stats if one.attributes.id in running]


def _sample(stats: "pb.ContainerStats") -> Sample:
    labels, cpu, memory = stats.attributes.labels, stats.cpu, stats.memory
    return Sample(
        labels[keys.POD_UID],
        labels.get(keys.POD_NAMESPACE, ""),
        labels.get(keys.POD_NAME, ""),
        labels.get(keys.CONTAINER_NAME, stats.attributes.metadata.name),
        stats.attributes.id,
        cpu.timestamp,
        cpu.usage_core_nano_seconds.value if cpu.HasField("usage_core_nano_seconds") else None,
        memory.working_set_bytes.value if memory.HasField("working_set_bytes") else None,
    )


class NodeUse(NamedTuple):
    """The host at one moment. busy_s: CPU time of all CPUs since its start."""

    busy_s: float
    memory_bytes: int
    """In use and not to be had for the asking: MemTotal without MemAvailable."""
    memory_total_bytes: int


def node_use(proc: Path = PROC) -> NodeUse:
    """This host now. Raises OSError, ValueError."""
    times = [int(word) for word in (proc / "stat").read_text().split("\n", 1)[0].split()[1:]][_COUNTED]
    lines = (line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
    told = {name: int(rest.split()[0]) * 1024 for name, rest in lines}
    busy = sum(times) - sum(times[_IDLE])
    total = told["MemTotal"]
    return NodeUse(busy / os.sysconf("SC_CLK_TCK"), total - told["MemAvailable"], total)
