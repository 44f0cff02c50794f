"""The pod conditions that a kubelet owns (kubelet behaviour, section 6.3)."""

from typing import Any

from podherd.machines.pod.record import Record
from podherd.model.status import FAILED, PENDING, SUCCEEDED, rfc3339


def conditions(record: Record, unready: list[str], sandbox_trouble: str, now: float) -> list[dict[str, Any]]:
    """In the kubelet's order. unready: names of containers that are not ready. A time changes only with its status."""
    ready = _readiness(record, unready)
    return [
        _sandbox(record, sandbox_trouble, now),
        _initialized(record, now),
        _condition(record, "Ready", *ready, now),
        _condition(record, "ContainersReady", *ready, now),
        _condition(record, "PodScheduled", "True", "", "", now),
    ]


def _sandbox(record: Record, trouble: str, now: float) -> dict[str, Any]:
    kind = "PodReadyToStartContainers"
    if trouble:
        return _condition(record, kind, "False", "PodSandboxNotReady", trouble, now)
    return _condition(record, kind, "True", "", "", now)


def _initialized(record: Record, now: float) -> dict[str, Any]:
    pod = record.pod
    if record.phase == SUCCEEDED:
        return _condition(record, "Initialized", "True", "PodCompleted", "", now)
    if pod is not None and pod.init_containers and record.phase == PENDING:
        names = " ".join(container.name for container in pod.init_containers)
        message = f"containers with incomplete status: [{names}]"
        return _condition(record, "Initialized", "False", "ContainersNotInitialized", message, now)
    return _condition(record, "Initialized", "True", "", "", now)


def _readiness(record: Record, unready: list[str]) -> tuple[str, str, str]:
    if record.phase == SUCCEEDED:
        return "False", "PodCompleted", ""
    if record.phase == FAILED:
        return "False", "PodFailed", ""
    if unready:
        return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return "True", "", ""


def _condition(record: Record, kind: str, status: str, reason: str, message: str, now: float) -> dict[str, Any]:
    old = record.conditions.get(kind)
    if old is not None and old["status"] == status:
        if old.get("reason", "") == reason and old.get("message", "") == message:
            return old
        since = old["lastTransitionTime"]
    else:
        since = rfc3339(now)
    condition: dict[str, Any] = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since}
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    record.conditions[kind] = condition
    return condition
