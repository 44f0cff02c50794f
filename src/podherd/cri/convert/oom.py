"""Whom the kernel kills first when memory runs out (kubelet behaviour, section 3.11)."""

from podherd.model.pod import Container, ContainerKind, Pod
from podherd.model.qos import BEST_EFFORT, GUARANTEED, qos_class
from podherd.model.resources import amounts_of, container_amounts

PROTECTED = -997
FIRST = 1000
LEAST_BURSTABLE = FIRST + PROTECTED
NODE_CRITICAL = "system-node-critical"


def oom_score_adj(pod: Pod, container: Container, node_memory_bytes: int) -> int:
    """-997 Guaranteed and node-critical, 1000 BestEffort, between 3 and 999 the less memory a container asks for."""
    qos = qos_class(pod.body)
    if qos == GUARANTEED or pod.body["spec"].get("priorityClassName") == NODE_CRITICAL:
        return PROTECTED
    if qos == BEST_EFFORT:
        return FIRST
    share = _memory(container)
    if container.kind is ContainerKind.SIDECAR:
        share = max(share, min(map(_memory, pod.containers), default=0))
    share += _unallocated(pod)
    return min(max(FIRST - FIRST * share // node_memory_bytes, LEAST_BURSTABLE), FIRST - 1)


def _memory(container: Container) -> int:
    return container_amounts(container, "requests").get("memory", 0)


def _unallocated(pod: Pod) -> int:
    """Each container's equal part of a pod-level memory request that no container asks for."""
    whole = amounts_of(pod.body["spec"].get("resources"), "requests").get("memory", 0)
    containers = (*pod.containers, *pod.init_containers)
    return max(whole - sum(map(_memory, containers)), 0) // len(containers) if whole else 0
