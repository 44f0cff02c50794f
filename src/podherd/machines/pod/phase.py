"""The phase of a pod (kubelet behaviour, section 6.1)."""

from dataclasses import dataclass, replace

from podherd.machines.pod.init import failed, initialised
from podherd.machines.pod.record import CREATED, EXITED, RUNNING, UNKNOWN, Record
from podherd.machines.pod.restart import may_restart
from podherd.model import keys
from podherd.model.pod import Container, ContainerKind, Pod
from podherd.model.status import FAILED, PENDING, STATUS_UNKNOWN_EXIT, SUCCEEDED, TERMINAL
from podherd.model.status import RUNNING as PHASE_RUNNING
from podherd.wire.observed import ContainerSeen


@dataclass(slots=True)
class Count:
    """Containers by what they do. waiting: for their first run. restarting: of the stopped ones those that may.

    init_failed: a plain init container failed for good. init_pending: the init containers have not done their part.
    """

    running: int = 0
    stopped: int = 0
    succeeded: int = 0
    waiting: int = 0
    restarting: int = 0
    init_failed: bool = False
    init_pending: bool = False


def phase(record: Record, pod: Pod, ended: bool) -> str:
    """From the newest instance of each container. ended: the pod was terminated and nothing of it runs (section 6.5).

    Succeeded and Failed are never left, whoever said them first; so is a reason why the pod failed as a whole.
    """
    if record.phase in TERMINAL:
        return record.phase
    if pod.source == keys.SOURCE_API and (told := api_phase(pod)) in TERMINAL:
        return told
    if record.reason:
        return FAILED
    count = _count(record, pod, ended)
    if count.init_failed:
        return FAILED
    init_pending = count.init_pending and not _all_over(count, pod)
    done = count.stopped == count.succeeded and count.stopped > 0 and not count.waiting and not init_pending
    if ended and not record.static:
        return SUCCEEDED if done and not count.running else FAILED
    if count.waiting or init_pending:
        return PENDING
    if count.running:
        return PHASE_RUNNING
    if not count.stopped:
        return PENDING
    if count.restarting:
        return PHASE_RUNNING
    return SUCCEEDED if done else FAILED


def _all_over(count: Count, pod: Pod) -> bool:
    """Whether every app has run and none may run again: no new sandbox is made for init containers alone."""
    return count.stopped == len(pod.containers) and not count.restarting


def api_phase(pod: Pod) -> str:
    """The phase that the API has of the pod; empty for none."""
    status = pod.body.get("status")
    return str(status.get("phase", "")) if status else ""


def last_run(record: Record, name: str) -> ContainerSeen | None:
    """The newest instance that ever ran: what waits to be started over an earlier end counts as stopped."""
    seen = record.newest.get(name)
    if seen is None or seen.state == CREATED:
        seen = record.previous.get(name)
    return None if seen is None or seen.state == CREATED else seen


def _count(record: Record, pod: Pod, ended: bool) -> Count:
    count = Count()
    for container in pod.containers:
        seen = last_run(record, container.name)
        if seen is None:
            count.waiting += 1
        elif seen.state == RUNNING:
            count.running += 1
        else:
            count.stopped += 1
            count.succeeded += seen.state == EXITED and seen.exit_code == 0
            count.restarting += went_with_all(record, seen) or may_run_again(pod, container, seen)
    if pod.init_containers:
        count.init_pending = not was_initialised(record, pod, ended)
        _count_init(record, pod, count)
    return count


def was_initialised(record: Record, pod: Pod, ended: bool) -> bool:
    """`initialised`; of a pod that is over, whether it ever was: its sandbox may be gone."""
    if initialised(record, pod):
        return True
    over = ended or record.phase in TERMINAL
    return over and any(last_run(record, container.name) is not None for container in pod.containers)


def may_run_again(pod: Pod, container: Container, seen: ContainerSeen) -> bool:
    """Whether policy lets a container start again after `seen`; one in unknown state counts as killed."""
    if seen.state != EXITED:
        seen = replace(seen, state=EXITED, exit_code=STATUS_UNKNOWN_EXIT)
    return may_restart(pod, container, seen)


def went_with_all(record: Record, seen: ContainerSeen) -> bool:
    """Whether it was removed by a restart of all containers: no policy holds the next run back (KEP-5532)."""
    return record.restarted.get(seen.name) is seen


def ended_badly(seen: ContainerSeen) -> bool:
    """Whether an init container's run was in vain (section 3.3)."""
    return seen.state == UNKNOWN or (seen.state == EXITED and failed(seen))


def _count_init(record: Record, pod: Pod, count: Count) -> None:
    """Sidecars that run count as running; those that have ended count for nothing."""
    for container in pod.init_containers:
        seen = last_run(record, container.name)
        if container.kind is ContainerKind.SIDECAR:
            count.running += seen is not None and seen.state == RUNNING
        elif seen is not None and count.init_pending and not went_with_all(record, seen):
            count.init_failed |= ended_badly(seen) and not may_run_again(pod, container, seen)
