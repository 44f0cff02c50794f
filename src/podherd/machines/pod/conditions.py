"""The pod conditions that a kubelet owns, and those of others as they are (kubelet behaviour, section 6.3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from podherd.machines.pod.record import EXITED, Record
from podherd.machines.pod.rules import RESTART_ALL, rule_action
from podherd.machines.pod.told_spec import Part, ToldSpec
from podherd.machines.pod.told_time import told_time
from podherd.model.pod import Pod
from podherd.model.status import FAILED, SUCCEEDED, TERMINAL

DISRUPTION_TARGET = "DisruptionTarget"
DISRUPTION_REASON = "TerminationByKubelet"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the conditions are made of. unready: names of sidecars and regular containers that are not ready.

    incomplete: names of the init containers that an uninitialised pod waits for. sandbox_trouble: why no container can
    start; empty when they can. resizing: a running container does not have what its spec grants.
    """

    unready: Sequence[str]
    incomplete: Sequence[str]
    sandbox_trouble: str
    now: float
    resizing: bool = False


def conditions(record: Record, spec: ToldSpec, facts: Facts) -> list[dict[str, Any]]:
    """In the kubelet's order, then those of other owners. A time changes only with its status."""
    ready = _containers_ready(record, facts.unready)
    told = [
        _sandbox(record, spec, facts),
        _initialized(record, spec, facts),
        _condition(record, spec, facts, "Ready", *_ready(spec, ready)),
        _condition(record, spec, facts, "ContainersReady", *ready),
        _condition(record, spec, facts, "PodScheduled", "True"),
    ]
    if spec.may_restart_all:
        told.append(_restarting(record, spec, facts))
    if record.resize[0] and record.phase not in TERMINAL:
        told.append(_condition(record, spec, facts, "PodResizePending", "True", *record.resize))
    if record.phase not in TERMINAL and facts.resizing:
        error = record.resize_error
        told.append(_condition(record, spec, facts, "PodResizeInProgress", "True", "Error" if error else "", error))
    return told + _of_others(record, spec, facts)


def _of_others(record: Record, spec: ToldSpec, facts: Facts) -> list[Part]:
    """As they are; but that the node has ended the pod is told with its terminal phase, over whatever stood there."""
    order = record.order
    if order is None or not order.disruption or record.phase not in TERMINAL:
        return list(spec.others)
    own = _condition(record, spec, facts, DISRUPTION_TARGET, "True", DISRUPTION_REASON, order.disruption)
    return [own, *(each for each in spec.others if each["type"] != DISRUPTION_TARGET)]


def _sandbox(record: Record, spec: ToldSpec, facts: Facts) -> Part:
    kind = "PodReadyToStartContainers"
    if trouble := facts.sandbox_trouble:
        return _condition(record, spec, facts, kind, "False", "PodSandboxNotReady", trouble)
    return _condition(record, spec, facts, kind, "True")


def _initialized(record: Record, spec: ToldSpec, facts: Facts) -> Part:
    kind = "Initialized"
    if record.phase == SUCCEEDED:
        return _condition(record, spec, facts, kind, "True", "PodCompleted")
    if facts.incomplete:
        message = f"containers with incomplete status: [{' '.join(facts.incomplete)}]"
        return _condition(record, spec, facts, kind, "False", "ContainersNotInitialized", message)
    return _condition(record, spec, facts, kind, "True")


def _containers_ready(record: Record, unready: Sequence[str]) -> tuple[str, str, str]:
    """Status, reason and message."""
    if record.phase == SUCCEEDED:
        return "False", "PodCompleted", ""
    if record.phase == FAILED:
        return "False", "PodFailed", ""
    if unready:
        return "False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]"
    return "True", "", ""


def _ready(spec: ToldSpec, containers: tuple[str, str, str]) -> tuple[str, str, str]:
    """As the containers, and once these are ready as the readiness gates, which other owners open."""
    if not spec.gates or containers[0] != "True":
        return containers
    closed = ", ".join(_closed(spec.gates, {each["type"]: each["status"] for each in _as_given(spec)}))
    return ("False", "ReadinessGatesNotReady", closed) if closed else containers


def _as_given(spec: ToldSpec) -> Iterable[Part]:
    return (*spec.others, *spec.api_conditions.values())


def _closed(gates: Iterable[str], statuses: dict[str, str]) -> Iterable[str]:
    for gate in gates:
        if gate not in statuses:
            yield f'corresponding condition of pod readiness gate "{gate}" does not exist.'
        elif statuses[gate] != "True":
            yield f'the status of pod readiness gate "{gate}" is not "True", but {statuses[gate]}'


def _restarting(record: Record, spec: ToldSpec, facts: Facts) -> Part:
    """Only of a pod that a rule may restart as a whole (KEP-5532)."""
    kind = "AllContainersRestarting"
    if record.phase == SUCCEEDED:
        return _condition(record, spec, facts, kind, "False", "PodCompleted")
    if record.phase == FAILED:
        return _condition(record, spec, facts, kind, "False", "PodFailed")
    if not (record.restarting_all or _is_cause_held(record, spec.pod)):
        return _condition(record, spec, facts, kind, "False")
    message = "container exited with restart policy rule"
    return _condition(record, spec, facts, kind, "True", "RestartAllContainersStarted", message)


def _is_cause_held(record: Record, pod: Pod) -> bool:
    """Whether the runtime still holds the container whose end restarts all: it is removed last."""
    held = {seen.id for seen in record.containers}
    for container in (*pod.init_containers, *pod.containers):
        seen = record.newest.get(container.name)
        if seen is None or seen.state != EXITED or seen.id not in held:
            continue
        if rule_action(container, seen.exit_code) == RESTART_ALL:
            return True
    return False


def _condition(
    record: Record, spec: ToldSpec, facts: Facts, kind: str, status: str, reason: str = "", message: str = ""
) -> Part:
    """The condition as it was told last, where nothing of it has changed."""
    old = record.conditions.get(kind) or spec.api_conditions.get(kind)
    if old is not None and old["status"] == status:
        same = old.get("reason", "") == reason and old.get("message", "") == message
        if same and old.get("observedGeneration") == spec.generation and "lastProbeTime" in old:
            record.conditions[kind] = old
            return old
        since = old.get("lastTransitionTime") or told_time(facts.now)
    else:
        since = told_time(facts.now)
    condition: Part = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": since}
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    if spec.generation is not None:
        condition["observedGeneration"] = spec.generation
    record.conditions[kind] = condition
    return condition
