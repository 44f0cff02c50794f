"""Stats replies: pretend figures, the same for all running containers of one call, so that a list of all is cheap."""

from collections.abc import Iterable

from cri_api.v1 import api_pb2 as api

from podherd.hollow.encode import block
from podherd.hollow.records import RUNNING, Container, Sandbox

_CORE_SHARE = 1_000_000
"""Pretend use: 1 millicore, so many ns of CPU a second."""
_RSS_BYTES = 4 << 20


def _figures(now_ns: int) -> bytes:
    """The cpu, memory and writable_layer fields that ContainerStats has at 2, 3 and 4."""
    usage_ns = now_ns // 1000 % (1 << 62)
    layer = api.FilesystemUsage(
        timestamp=now_ns,
        fs_id=api.FilesystemIdentifier(mountpoint="/"),
        used_bytes=api.UInt64Value(value=4096),
        inodes_used=api.UInt64Value(value=2),
    )
    return api.ContainerStats(
        cpu=_cpu(now_ns, usage_ns), memory=_memory(now_ns), writable_layer=layer
    ).SerializeToString()


def _cpu(now_ns: int, usage_ns: int) -> api.CpuUsage:
    return api.CpuUsage(
        timestamp=now_ns,
        usage_core_nano_seconds=api.UInt64Value(value=usage_ns),
        usage_nano_cores=api.UInt64Value(value=_CORE_SHARE),
    )


def _memory(now_ns: int) -> api.MemoryUsage:
    resident = api.UInt64Value(value=_RSS_BYTES)
    return api.MemoryUsage(timestamp=now_ns, working_set_bytes=resident, usage_bytes=resident, rss_bytes=resident)


def _attributes(container: Container) -> bytes:
    """The attributes field, from the encoded status: the annotations are kept nowhere else."""
    status = api.ContainerStatus.FromString(container.status_head)
    attributes = api.ContainerAttributes(
        id=container.id, metadata=status.metadata, labels=status.labels, annotations=status.annotations
    )
    return block(b"\x0a", attributes.SerializeToString())


def container_stats(containers: Iterable[Container], now_ns: int) -> list[bytes]:
    """Encoded ContainerStats of those that run."""
    figures = _figures(now_ns)
    return [_attributes(container) + figures for container in containers if container.state == RUNNING]


def sandbox_stats(sandbox: Sandbox, now_ns: int) -> bytes:
    """Encoded PodSandboxStats, its running containers included."""
    status = api.PodSandboxStatus.FromString(sandbox.status_head)
    attributes = api.PodSandboxAttributes(
        id=sandbox.id, metadata=status.metadata, labels=status.labels, annotations=status.annotations
    )
    inside = container_stats(sandbox.containers.values(), now_ns)
    linux = api.LinuxPodSandboxStats(
        cpu=_cpu(now_ns, now_ns // 1000),
        memory=_memory(now_ns),
        process=api.ProcessUsage(timestamp=now_ns, process_count=api.UInt64Value(value=1 + len(inside))),
    ).SerializeToString()
    linux += b"".join(block(b"\x2a", one) for one in inside)
    return block(b"\x0a", attributes.SerializeToString()) + block(b"\x12", linux)


def filesystem(now_ns: int, mountpoint: str, used_bytes: int) -> api.FilesystemUsage:
    """One file system of ImageFsInfo."""
    return api.FilesystemUsage(
        timestamp=now_ns,
        fs_id=api.FilesystemIdentifier(mountpoint=mountpoint),
        used_bytes=api.UInt64Value(value=used_bytes),
        inodes_used=api.UInt64Value(value=1),
    )
