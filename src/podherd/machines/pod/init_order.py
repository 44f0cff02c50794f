"""Which init containers and sidecars start now (kubelet behaviour, section 3.3)."""

from dataclasses import dataclass, field

from podherd.machines.pod.decision import Case, Decision
from podherd.machines.pod.init import failed, here, started
from podherd.machines.pod.instructions import KillContainer, StartContainer
from podherd.machines.pod.record import EXITED, LIVE, RUNNING, UNKNOWN
from podherd.machines.pod.restart import judge, may_restart
from podherd.machines.pod.start import starts
from podherd.machines.pod.terminate import stop_one
from podherd.model.pod import Container, ContainerKind
from podherd.wire.observed import ContainerSeen


@dataclass(slots=True)
class Turn:
    """What is done for the init containers now. ready: the regular containers may start, in the same plan."""

    kill: list[KillContainer] = field(default_factory=list)
    start: list[StartContainer] = field(default_factory=list)
    ready: bool = False


def begin(case: Case, sandbox_id: str, decision: Decision) -> Turn:
    """The turn of a pod that is not initialised. sandbox_id: empty for a new one, in which nothing has run yet.

    Plain init containers run one at a time. A sidecar has done its part once its start succeeded, so that what follows
    it stands in the same plan; should it fail, the list ends there.
    """
    turn = Turn()
    for container in case.pod.init_containers:
        seen = here(case.record, container) if sandbox_id else None
        step = _sidecar if container.kind is ContainerKind.SIDECAR else _plain
        if not step(case, container, seen, sandbox_id, decision, turn):
            return turn
    turn.ready = True
    return turn


def keep_sidecars(case: Case, sandbox_id: str, decision: Decision) -> Turn:
    """The turn of an initialised pod: its sidecars are kept running whatever its policy; no other runs again."""
    turn = Turn(ready=True)
    for container in case.pod.init_containers:
        if container.kind is ContainerKind.SIDECAR:
            _sidecar(case, container, case.record.newest.get(container.name), sandbox_id, decision, turn)
    return turn


def _sidecar(
    case: Case, container: Container, seen: ContainerSeen | None, sandbox_id: str, decision: Decision, turn: Turn
) -> bool:
    """Whether the next one may follow."""
    verdict = judge(case.pod, container, seen, sandbox_id)
    if verdict.keep:
        return started(case.record, container)
    if verdict.kill and seen is not None:
        turn.kill.append(stop_one(case, seen, verdict.kill))
    return _try(case, container, decision, turn)


def _plain(
    case: Case, container: Container, seen: ContainerSeen | None, _sandbox_id: str, decision: Decision, turn: Turn
) -> bool:
    if seen is not None and seen.state == RUNNING:
        return False
    if seen is not None and seen.state == EXITED and not failed(seen):
        return True
    if seen is not None and seen.state == UNKNOWN:
        why = f"Init container {container.name} is in unknown state, try killing it before restart"
        turn.kill.append(stop_one(case, seen, why))
    if may_restart(case.pod, container, seen):
        _try(case, container, decision, turn)
    return False


def _try(case: Case, container: Container, decision: Decision, turn: Turn) -> bool:
    """Start it unless it is in back-off; whether it starts."""
    found = starts(case, (container,), decision)
    turn.start += found
    return bool(found)


def strays(case: Case, sandbox_id: str) -> list[KillContainer]:
    """What still lives in an earlier sandbox of a pod that is not initialised in this one."""
    return [
        stop_one(case, seen, f"Container {seen.name} runs in an old sandbox, will be restarted")
        for seen in case.record.containers
        if seen.state in LIVE and seen.sandbox_id != sandbox_id
    ]
