"""Requests and limits as the CRI's Linux resources (kubelet behaviour, section 3.11; case SPEC-3)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert.host import Host
from podherd.cri.convert.oom import oom_score_adj
from podherd.errors import ContainerConfigError
from podherd.model.cpu_time import cpu_quota_us, cpu_shares
from podherd.model.pod import Container, Pod
from podherd.model.quantity import QuantityError
from podherd.model.resources import HUGE_PAGES, Amounts, amounts_of, container_amounts, overhead_of, pod_amounts
from podherd.model.settings import Settings


def container_resources(pod: Pod, container: Container, settings: Settings, host: Host) -> pb.LinuxContainerResources:
    """All of one container's resources. Raises ContainerConfigError for a value that is no quantity."""
    try:
        requests, limits = container_amounts(container, "requests"), container_amounts(container, "limits")
        whole = amounts_of(pod.body["spec"].get("resources"), "limits")
        limits = {**whole, **{name: amount for name, amount in limits.items() if amount}} if whole else limits
        resources = _compute(requests, limits, settings)
        resources.oom_score_adj = oom_score_adj(pod, container, host.memory_bytes)
    except QuantityError as error:
        raise ContainerConfigError(f"resources of container {container.name}", str(error), error.mend) from error
    resources.hugepage_limits.extend(_hugepages(limits, host))
    _set_group_kill_and_swap(resources, settings, host)
    return resources


def _set_group_kill_and_swap(resources: pb.LinuxContainerResources, settings: Settings, host: Host) -> None:
    """All of a container dies at once when its memory runs out, and it gets no swap (`NoSwap`, the default)."""
    if not host.cgroup_v2:
        resources.memory_swap_limit_in_bytes = resources.memory_limit_in_bytes if host.swap else 0
        return
    if not settings.single_process_oom_kill:
        resources.unified["memory.oom.group"] = "1"
    if host.swap:
        resources.unified["memory.swap.max"] = "0"


def sandbox_resources(pod: Pod, settings: Settings) -> pb.LinuxContainerResources:
    """The sum over the pod's containers, which sandboxed runtimes size their machine by."""
    try:
        return _compute(pod_amounts(pod, "requests"), pod_amounts(pod, "limits"), settings)
    except QuantityError as error:
        raise ContainerConfigError(f"resources of pod {pod.key}", str(error), error.mend) from error


def sandbox_overhead(pod: Pod, settings: Settings) -> pb.LinuxContainerResources | None:
    """`spec.overhead`, counted apart from the containers."""
    amounts = overhead_of(pod)
    return _compute(amounts, amounts, settings) if amounts else None


def _compute(requests: Amounts, limits: Amounts, settings: Settings) -> pb.LinuxContainerResources:
    limit = limits.get("cpu", 0)
    resources = pb.LinuxContainerResources(
        cpu_shares=cpu_shares(requests.get("cpu", limit)), memory_limit_in_bytes=limits.get("memory", 0)
    )
    if settings.cpu_cfs_quota:
        resources.cpu_period = settings.cpu_cfs_period_us
        resources.cpu_quota = cpu_quota_us(limit, settings.cpu_cfs_period_us)
    return resources


def _hugepages(limits: Amounts, host: Host) -> list[pb.HugepageLimit]:
    """Every size that the node has, 0 where none is asked for."""
    return [
        pb.HugepageLimit(page_size=size, limit=limits.get(f"{HUGE_PAGES}{size.removesuffix('B')}i", 0))
        for size in host.hugepage_sizes
    ]
