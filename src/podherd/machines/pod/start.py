"""When a container that shall start may start: its pauses and back-offs (kubelet behaviour, sections 3.5 and 3.6)."""

from collections.abc import Iterable

from podherd.machines.backoff import BackOff
from podherd.machines.pod.decision import Case, Decision
from podherd.machines.pod.instructions import StartContainer
from podherd.machines.pod.record import EXITED, Failure
from podherd.model.pod import Container
from podherd.model.status import CRASH_LOOP_BACK_OFF, go_duration


def starts(case: Case, containers: Iterable[Container], decision: Decision) -> tuple[StartContainer, ...]:
    """Those of `containers` that start now; why and how long the others wait goes to the decision."""
    return tuple(_start(case, container) for container in containers if _may_start(case, container, decision))


def _may_start(case: Case, container: Container, decision: Decision) -> bool:
    record, name = case.record, container.name
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
        _back_off(case, name, entry, until, decision)
        return False
    decision.crashes[name] = rule.raised(entry, seen.finished_at, case.now)
    return True


def _start(case: Case, container: Container) -> StartContainer:
    attempt = case.record.attempts.get(container.name, -1) + 1
    if (trouble := case.record.pulls.get(container.image)) is None:
        return StartContainer(container.name, attempt)
    allowed_at = case.policy.pull_rule.until(trouble.back_off, trouble.back_off.raised_at)
    return StartContainer(container.name, attempt, case.now >= allowed_at, trouble.error)


def _back_off(case: Case, name: str, entry: BackOff, until: float, decision: Decision) -> None:
    """Reached once per crash: from then on the failure itself holds the container."""
    record = case.record
    pod = f"{record.name}_{record.namespace}({record.uid})"
    message = f"back-off {go_duration(entry.delay_s)} restarting failed container={name} pod={pod}"
    decision.waits.append(until)
    decision.failures[name] = Failure(CRASH_LOOP_BACK_OFF, message, until)
    text = f"Back-off restarting failed container {name} in pod {pod}"
    decision.tell(case, "BackOff", text, f"spec.containers{{{name}}}")
