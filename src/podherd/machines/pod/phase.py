"""The phase of a pod (kubelet behaviour, section 6.1)."""

from podherd.machines.pod.record import CREATED, EXITED, RUNNING, Record
from podherd.machines.pod.restart import ALWAYS, ON_FAILURE
from podherd.model.pod import Pod
from podherd.model.status import FAILED, PENDING, SUCCEEDED, TERMINAL
from podherd.model.status import RUNNING as PHASE_RUNNING


def phase(record: Record, pod: Pod, ended: bool) -> str:
    """From the newest instance of each container. ended: the pod was terminated and nothing of it runs (section 6.5).

    Succeeded and Failed are never left.
    """
    if record.phase in TERMINAL:
        return record.phase
    running, stopped, succeeded, waiting = _count(record, pod)
    if ended and not record.static:
        return SUCCEEDED if stopped and stopped == succeeded and not waiting else FAILED
    if waiting:
        return PENDING
    if running:
        return PHASE_RUNNING
    if not stopped:
        return PENDING
    return _stopped(pod, stopped == succeeded)


def _stopped(pod: Pod, all_succeeded: bool) -> str:
    if pod.restart_policy == ALWAYS:
        return PHASE_RUNNING
    if all_succeeded:
        return SUCCEEDED
    return PHASE_RUNNING if pod.restart_policy == ON_FAILURE else FAILED


def _count(record: Record, pod: Pod) -> tuple[int, int, int, int]:
    """Containers running, stopped, stopped with exit 0, and waiting for their first run."""
    running = stopped = succeeded = waiting = 0
    for container in pod.containers:
        seen = record.newest.get(container.name)
        if seen is not None and seen.state == CREATED:
            seen = record.previous.get(container.name)
        if seen is None or seen.state == CREATED:
            waiting += 1
        elif seen.state == RUNNING:
            running += 1
        else:
            stopped += 1
            succeeded += seen.state == EXITED and seen.exit_code == 0
    return running, stopped, succeeded, waiting
