"""When a container that shall start may start: its pauses and back-offs (kubelet behaviour, sections 3.5 and 3.6)."""

from collections.abc import Iterable

from podherd.machines.backoff import BackOff
from podherd.machines.pod.decision import Case, Decision
from podherd.machines.pod.instructions import StartContainer
from podherd.machines.pod.record import CREATED, EXITED, Failure, PullTrouble
from podherd.model.pod import Container
from podherd.model.status import CRASH_LOOP_BACK_OFF, go_duration
from podherd.wire.observed import ContainerSeen


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
    entry, rule = record.crashes.get(name), case.policy.crash_rule
    if seen is None or seen.state != EXITED:
        ended = record.previous.get(name) if seen is not None and seen.state == CREATED else None
        # What was made and never begun stands for a restart after the end before it, if that was not counted yet.
        if ended is not None and ended.state == EXITED and (entry is None or entry.raised_at < ended.finished_at):
            decision.crashes[name] = rule.raised(entry, ended.finished_at, case.now)
        return True
    until = rule.until(entry, _ended_at(case, seen, entry))
    if entry is not None and case.now < until:
        _back_off(case, container, entry, until, decision)
        return False
    decision.crashes[name] = rule.raised(entry, seen.finished_at, case.now)
    return True


def _ended_at(case: Case, seen: ContainerSeen, entry: BackOff | None) -> float:
    """An end that is dated later than now was before the clock was set back: what counts is the last try since."""
    return seen.finished_at if seen.finished_at <= case.now or entry is None else entry.raised_at


def _start(case: Case, container: Container) -> StartContainer:
    attempt, pulls = case.record.attempts.get(container.name, -1) + 1, case.record.pulls
    if not pulls:
        return StartContainer(container.name, attempt)
    held = tuple((image, trouble.error) for image, trouble in pulls.items() if _is_held(case, trouble))
    own = pulls.get(container.image)
    return StartContainer(
        container.name,
        attempt,
        pull_allowed=own is None or not _is_held(case, own),
        back_off=own.error if own is not None else "",
        held=tuple(one for one in held if one[0] != container.image),
    )


def _is_held(case: Case, trouble: PullTrouble) -> bool:
    return case.now < case.policy.pull_rule.until(trouble.back_off, trouble.back_off.raised_at)


def _back_off(case: Case, container: Container, entry: BackOff, until: float, decision: Decision) -> None:
    """Reached once per crash: from then on the failure itself holds the container."""
    record, name = case.record, container.name
    pod = f"{record.name}_{record.namespace}({record.uid})"
    message = f"back-off {go_duration(entry.delay_s)} restarting failed container={name} pod={pod}"
    decision.waits.append(until)
    decision.failures[name] = Failure(CRASH_LOOP_BACK_OFF, message, until)
    text = f"Back-off restarting failed container {name} in pod {pod}"
    decision.tell(case, "BackOff", text, container.field_path)
