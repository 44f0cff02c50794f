"""The v1.ContainerState of containers that wait or have ended (kubelet behaviour, sections 3.3 and 6.2)."""

from typing import Any

from podherd.machines.pod.record import EXITED
from podherd.machines.pod.told_spec import Part
from podherd.machines.pod.told_time import told_time
from podherd.model.clip import clipped
from podherd.model.status import LOST_MESSAGE, STATUS_UNKNOWN, STATUS_UNKNOWN_EXIT
from podherd.wire.observed import ContainerSeen

USED_TO_RUN_MESSAGE = "The container could not be located when the pod was deleted.  The container used to be Running"
"""Message of a container that vanished while its pod lives on."""
RESTARTING_ALL = "RestartingAllContainers"
RESTARTING_ALL_MESSAGE = "The container is removed because RestartAllContainers in place"
UNSEEN_INIT_MESSAGE = (
    "Unable to get init container status from container runtime and pod has been initialized, "
    "treat it as exited normally"
)


def _end(code: int, reason: str, message: str) -> dict[str, Any]:
    """A v1.ContainerStateTerminated whose times nobody knows."""
    return {"exitCode": code, "reason": reason, "message": message, "startedAt": None, "finishedAt": None}


LOST: Part = {"terminated": _end(STATUS_UNKNOWN_EXIT, STATUS_UNKNOWN, LOST_MESSAGE)}
"""The end of a container that should have run in a pod that is over."""
COMPLETED_UNSEEN: Part = {"terminated": _end(0, "Completed", UNSEEN_INIT_MESSAGE)}
"""The end of an init container that the runtime holds no more, in a pod that was initialised."""

RESTARTS_WITH_ALL: Part = {"waiting": {"reason": RESTARTING_ALL, "message": RESTARTING_ALL_MESSAGE}}
"""The state of a container that a restart of all has removed."""


def waiting(reason: str, message: str) -> Part:
    """Why it does not run."""
    return {"waiting": {"reason": reason, "message": clipped(message)} if message else {"reason": reason}}


def terminated(seen: ContainerSeen, runtime_name: str) -> Part:
    """How an instance ended; one in a state that even the runtime does not know counts as lost."""
    if seen.state != EXITED:
        return _with_id(_end(STATUS_UNKNOWN_EXIT, STATUS_UNKNOWN, LOST_MESSAGE), seen, runtime_name)
    end: dict[str, Any] = {
        "exitCode": seen.exit_code,
        "reason": seen.reason or ("Error" if seen.exit_code else "Completed"),
        "startedAt": told_time(seen.started_at) if seen.started_at else None,
        "finishedAt": told_time(seen.finished_at) if seen.finished_at else None,
    }
    if seen.message:
        end["message"] = clipped(seen.message)
    return _with_id(end, seen, runtime_name)


def used_to_run(seen: ContainerSeen, runtime_name: str) -> Part:
    """The end of an instance that was lost, while its pod lives on."""
    return _with_id(_end(STATUS_UNKNOWN_EXIT, STATUS_UNKNOWN, USED_TO_RUN_MESSAGE), seen, runtime_name)


def ended_with_all(seen: ContainerSeen, runtime_name: str) -> Part:
    """The end of an instance that a restart of all containers has removed (KEP-5532)."""
    return _with_id(_end(STATUS_UNKNOWN_EXIT, RESTARTING_ALL, RESTARTING_ALL_MESSAGE), seen, runtime_name)


def _with_id(end: dict[str, Any], seen: ContainerSeen, runtime_name: str) -> Part:
    end["containerID"] = f"{runtime_name}://{seen.id}"
    return {"terminated": end}
