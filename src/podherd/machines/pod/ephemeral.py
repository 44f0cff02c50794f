"""Ephemeral containers: each is started once, whatever becomes of it (kubelet behaviour, section 3.4)."""

from dataclasses import replace

from podherd.machines.pod.decision import Case, Decision
from podherd.machines.pod.instructions import StartContainer
from podherd.machines.pod.record import CREATED, RUNNING, Failure
from podherd.machines.pod.start import starts
from podherd.model.pod import Container
from podherd.model.status import CREATE_CONFIG_ERROR


def ephemeral_starts(case: Case, decision: Decision) -> list[StartContainer]:
    """Those that never ran; one whose target does not run waits for it, and says so."""
    found: list[StartContainer] = []
    for container in case.pod.ephemeral_containers:
        seen = case.record.newest.get(container.name)
        if seen is not None and seen.state != CREATED:
            continue
        if container.target and not _target_id(case, container):
            message = f"unable to find target container {container.target}"
            decision.failures[container.name] = Failure(CREATE_CONFIG_ERROR, message, case.now)
            continue
        found += [
            replace(start, target_id=_target_id(case, container)) for start in starts(case, (container,), decision)
        ]
    return found


def _target_id(case: Case, container: Container) -> str:
    seen = case.record.newest.get(container.target) if container.target else None
    return seen.id if seen is not None and seen.state == RUNNING else ""
