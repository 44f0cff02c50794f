"""When a container that shall start may start: its pauses and back-offs (kubelet behaviour, sections 3.5 and 3.6)."""

from collections.abc import Iterable
from dataclasses import replace

from podherd.machines.backoff import BackOff
from podherd.machines.pod.decision import Case, Decision
from podherd.machines.pod.instructions import StartContainer
from podherd.machines.pod.record import EXITED, Failure
from podherd.model.pod import Container, ContainerKind
from podherd.model.status import CRASH_LOOP_BACK_OFF, POST_START_HOOK_ERROR, go_duration

_FIELDS = {
    ContainerKind.REGULAR: "spec.containers",
    ContainerKind.INIT: "spec.initContainers",
    ContainerKind.SIDECAR: "spec.initContainers",
    ContainerKind.EPHEMERAL: "spec.ephemeralContainers",
}


def starts(case: Case, containers: Iterable[Container], decision: Decision) -> tuple[StartContainer, ...]:
    """Those of `containers` that start now; why and how long the others wait goes to the decision."""
    return tuple(_start(case, container) for container in containers if may_start(case, container, decision))


def may_start(case: Case, container: Container, decision: Decision) -> bool:
    """Whether neither a pause nor its crash back-off holds it; what follows from either goes to the decision."""
    record, name = case.record, container.name
    if name in decision.failures:
        return False
    failure = record.failures.get(name)
    if failure is not None and case.now < failure.retry_at:
        decision.waits.append(failure.retry_at)
        return False
    seen = record.newest.get(name)
    if seen is None or seen.state != EXITED:
        return True
    entry, rule = record.crashes.get(name), case.policy.crash_rule
    until = rule.until(entry, seen.finished_at)
    if entry is not None and case.now < until:
        _back_off(case, container, entry, until, decision)
        return False
    decision.crashes[name] = rule.raised(entry, seen.finished_at, case.now)
    return True


def _start(case: Case, container: Container) -> StartContainer:
    attempt = case.record.attempts.get(container.name, -1) + 1
    if (trouble := case.record.pulls.get(container.image)) is None:
        return StartContainer(container.name, attempt)
    allowed_at = case.policy.pull_rule.until(trouble.back_off, trouble.back_off.raised_at)
    return StartContainer(container.name, attempt, case.now >= allowed_at, trouble.error)


def _back_off(case: Case, container: Container, entry: BackOff, until: float, decision: Decision) -> None:
    """Reached once per crash: from then on the failure itself holds the container. A failed hook goes on being told."""
    record, name = case.record, container.name
    pod = f"{record.name}_{record.namespace}({record.uid})"
    failure = record.failures.get(name)
    if failure is None or failure.reason != POST_START_HOOK_ERROR:
        message = f"back-off {go_duration(entry.delay_s)} restarting failed container={name} pod={pod}"
        failure = Failure(CRASH_LOOP_BACK_OFF, message, until)
    decision.waits.append(until)
    decision.failures[name] = replace(failure, retry_at=until)
    text = f"Back-off restarting failed container {name} in pod {pod}"
    decision.tell(case, "BackOff", text, f"{_FIELDS[container.kind]}{{{name}}}")
