"""The v1.PodStatus of a pod, and the v1.ContainerStatus of each container (kubelet behaviour, section 6.2)."""

from typing import Any

from podherd.machines.pod.conditions import conditions
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import CREATED, EXITED, RUNNING, Record
from podherd.machines.pod.restart import may_restart
from podherd.machines.pod.sandbox import sandbox_need
from podherd.model import keys
from podherd.model.pod import Container, Pod
from podherd.model.status import (
    CONTAINER_CREATING,
    LOST_MESSAGE,
    POD_INITIALIZING,
    STATUS_UNKNOWN,
    STATUS_UNKNOWN_EXIT,
    TERMINAL,
    rfc3339,
)
from podherd.wire.observed import ContainerSeen

State = dict[str, Any]


def pod_status(record: Record, pod: Pod, policy: Policy, ended: bool, now: float) -> dict[str, Any]:
    """The whole status, with the record's phase; moves its conditions. ended: terminated, and nothing runs any more."""
    statuses = [container_status(record, pod, container, policy, ended) for container in record.by_name]
    unready = [container.name for container in pod.containers if not _is_ready(record, container)]
    trouble = sandbox_need(pod, record.sandboxes).why
    status: dict[str, Any] = {"phase": record.phase, "conditions": conditions(record, unready, trouble, now)}
    if (generation := pod.body["metadata"].get("generation")) is not None:
        status["observedGeneration"] = generation
        status["conditions"] = [{**each, "observedGeneration": generation} for each in status["conditions"]]
    status |= _addresses(record, pod, policy)
    status["startTime"] = rfc3339(record.first_seen)
    status["qosClass"] = record.qos
    status["containerStatuses"] = statuses
    return status


def _is_ready(record: Record, container: Container) -> bool:
    """Without probes a running container is ready."""
    seen = record.newest.get(container.name)
    return seen is not None and seen.state == RUNNING


def _addresses(record: Record, pod: Pod, policy: Policy) -> dict[str, Any]:
    """hostIP and podIP with their lists: at most one address per family, the runtime's first one first."""
    found: dict[str, Any] = {}
    if policy.host_ips:
        found["hostIP"] = policy.host_ips[0]
        found["hostIPs"] = [{"ip": ip} for ip in policy.host_ips]
    sandbox = record.sandboxes[0] if record.sandboxes else None
    if sandbox is not None and (ips := _one_per_family(policy.host_ips if pod.host_network else sandbox.ips)):
        found["podIP"] = ips[0]
        found["podIPs"] = [{"ip": ip} for ip in ips]
    return found


def _one_per_family(ips: tuple[str, ...]) -> list[str]:
    if len(ips) == 1:
        return [ips[0]] if ips[0] else []
    families: dict[bool, str] = {}
    for ip in ips:
        if ip:
            families.setdefault(":" in ip, ip)
    return list(families.values())


def container_status(record: Record, pod: Pod, container: Container, policy: Policy, ended: bool) -> dict[str, Any]:
    """Newest instance as `state`, the one before it as `lastState`; waiting reasons over a past end."""
    seen = record.newest.get(container.name)
    state, last = _states(record, pod, container, policy, ended)
    running = "running" in state
    status: dict[str, Any] = {
        "name": container.name,
        "state": state,
        "lastState": last,
        "ready": running,
        "restartCount": 0 if seen is None else restart_count(seen),
        "image": container.image if seen is None else seen.image or container.image,
        "imageID": "" if seen is None else seen.image_ref,
        "started": running,
    }
    if seen is not None:
        status["containerID"] = f"{policy.runtime_name}://{seen.id}"
    return status


def restart_count(seen: ContainerSeen) -> int:
    """From the annotation, which a wiped log directory cannot lower; else the CRI attempt."""
    text = seen.annotations.get(keys.CONTAINER_RESTART_COUNT, "")
    return max(int(text), seen.attempt) if text.isdecimal() else seen.attempt


def _states(record: Record, pod: Pod, container: Container, policy: Policy, ended: bool) -> tuple[State, State]:
    name = container.name
    seen = record.newest.get(name)
    before = record.previous.get(name)
    last = _terminated(before, policy) if before is not None and before.state == EXITED else {}
    if seen is not None and seen.state == RUNNING:
        return {"running": {"startedAt": rfc3339(seen.started_at)}}, last
    if seen is not None and seen.state != CREATED:
        state = _terminated(seen, policy)
        waits = record.failures.get(name)
        if waits is None or record.ending or record.phase in TERMINAL or not may_restart(pod, seen):
            return state, last
        return _waiting(waits.reason, waits.message), state
    if ended and _initialised(record, pod):
        return _unknown(LOST_MESSAGE), last
    return _not_started(record, pod, name, seen), last


def _not_started(record: Record, pod: Pod, name: str, seen: ContainerSeen | None) -> State:
    if (failure := record.failures.get(name)) is not None:
        return _waiting(failure.reason, failure.message)
    if seen is not None:
        return {"waiting": {}}
    return _waiting(POD_INITIALIZING if pod.init_containers else CONTAINER_CREATING, "")


def _initialised(record: Record, pod: Pod) -> bool:
    return not pod.init_containers or any(container.name in record.newest for container in pod.containers)


def _waiting(reason: str, message: str) -> State:
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def _unknown(message: str) -> State:
    return {
        "terminated": {
            "exitCode": STATUS_UNKNOWN_EXIT,
            "reason": STATUS_UNKNOWN,
            "message": message,
            "startedAt": None,
            "finishedAt": None,
        }
    }


def _terminated(seen: ContainerSeen, policy: Policy) -> State:
    if seen.state != EXITED:
        state = _unknown(LOST_MESSAGE)
    else:
        ended: dict[str, Any] = {
            "exitCode": seen.exit_code,
            "reason": seen.reason or ("Error" if seen.exit_code else "Completed"),
            "startedAt": rfc3339(seen.started_at) if seen.started_at else None,
            "finishedAt": rfc3339(seen.finished_at) if seen.finished_at else None,
        }
        if seen.message:
            ended["message"] = seen.message
        state = {"terminated": ended}
    state["terminated"]["containerID"] = f"{policy.runtime_name}://{seen.id}"
    return state
