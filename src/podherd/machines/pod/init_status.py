"""Statuses of init containers and sidecars, and whom an uninitialised pod waits for (kubelet behaviour, 3.3, 6.5)."""

from podherd.machines.pod.container_state import LOST
from podherd.machines.pod.container_status import Status, View, container_status
from podherd.model.pod import ContainerKind


def init_statuses(view: View) -> list[Status]:
    """In the order of the spec."""
    statuses = [container_status(view, frame) for frame in view.spec.inits]
    return _finalised(statuses) if view.final else statuses


def incomplete(view: View, statuses: list[Status]) -> list[str]:
    """Names of those that have not done their part: plain ones are to end well, sidecars to start."""
    if view.initialised:
        return []
    pairs = zip(view.spec.inits, statuses, strict=True)
    return [
        frame.container.name
        for frame, status in pairs
        if not status["started" if frame.container.kind is ContainerKind.SIDECAR else "ready"]
    ]


def _finalised(statuses: list[Status]) -> list[Status]:
    """Of a pod that is over, all that had their turn have ended: those up to the last one that ever did something."""
    had_turn = 1 + max((at for at, status in enumerate(statuses) if _did_something(status)), default=0)
    return [
        {**status, "state": LOST, "ready": False, "started": False}
        if at < had_turn and "terminated" not in status["state"]
        else status
        for at, status in enumerate(statuses)
    ]


def _did_something(status: Status) -> bool:
    return "waiting" not in status["state"] or bool(status["lastState"])
