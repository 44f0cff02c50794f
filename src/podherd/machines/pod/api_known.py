"""What the API server knows of a pod, for a shard that has begun anew (kubelet behaviour, 6.1, 6.2, 15; case STATE-3).

Read of the `status` of an API pod's body: phase, reason and message (also in `phase` and `status`), foreign conditions
(in `told_spec`), startTime, and of containerStatuses, initContainerStatuses and ephemeralContainerStatuses each one's
name, state, lastState, restartCount, image, imageID, containerID and resources. All of it may be absent.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from podherd.machines.pod.container_state import RESTARTING_ALL
from podherd.machines.pod.phase import api_phase
from podherd.machines.pod.record import EXITED, LIVE, RUNNING, Record
from podherd.machines.pod.told_time import time_of
from podherd.model import keys
from podherd.model.pod import Body, Pod
from podherd.model.status import STATUS_UNKNOWN, TERMINAL
from podherd.wire.observed import ContainerSeen

LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
UNREADABLE = (KeyError, TypeError, ValueError, AttributeError, OverflowError)
"""What a status of another shape throws: what cannot be read is not known."""
NOT_COUNTED = frozenset({STATUS_UNKNOWN, RESTARTING_ALL})
"""Ends after which the restart count is already that of the run to come."""


def first_wanted(record: Record, pod: Pod, cause: str) -> None:
    """Take the first spec of a pod, and what the API server remembers of its past runs.

    What ran and is not in the runtime any more counts as lost, what had ended has ended, and no restart count falls.
    """
    status = pod.body.get("status") or {} if pod.source == keys.SOURCE_API else {}
    if (since := time_of(status.get("startTime"))) is not None:
        record.first_seen = since
    for told in _told(status):
        with suppress(*UNREADABLE):
            _remember(record, told)
    if status:
        record.refused = api_phase(pod) in TERMINAL and not status.get("containerStatuses")
        record.sort_instances()
    record.want(pod, cause)


def _told(status: Body) -> Iterator[Body]:
    return (each for name in LISTS for each in status.get(name) or ())


def _remember(record: Record, told: Body) -> None:
    name, count = str(told["name"]), _whole(told.get("restartCount"))
    record.told_counts[name] = max(count, record.told_counts.get(name, 0))
    if ident := str(told.get("containerID") or "").rpartition("://")[2]:
        record.given.setdefault(ident, told.get("resources") or {})
    newest, previous = _runs(told, count)
    highest = newest.attempt if newest is not None else count - 1
    if highest > record.attempts.get(name, -1):
        record.attempts[name] = highest
    held = record.newest.get(name)
    if newest is None or (held is not None and (held.state in LIVE or held.attempt >= newest.attempt)):
        return
    record.newest[name] = newest
    if held is not None:
        record.previous[name] = held
    elif previous is not None:
        record.previous[name] = previous


def _runs(told: Body, count: int) -> tuple[ContainerSeen | None, ContainerSeen | None]:
    """The newest run that the API knows of, and the one before."""
    state, last = told.get("state") or {}, (told.get("lastState") or {}).get("terminated")
    if (running := state.get("running")) is not None:
        return _run(told, count, RUNNING, running), _run(told, count - 1, EXITED, last) if last else None
    if (end := state.get("terminated")) is not None:
        return _run(told, count, EXITED, end), _run(told, count - 1, EXITED, last) if last else None
    if last is None:
        return None, None
    return _run(told, count - (last.get("reason") in NOT_COUNTED), EXITED, last), None


def _whole(value: Any) -> int:
    """An int32 of the API; absent is 0. Raises ValueError for what none could be, and what `int` raises."""
    number = int(value or 0)
    if not -(2**31) <= number < 2**31:
        raise ValueError("no 32-bit number")
    return number


def _run(told: Body, attempt: int, state: str, part: dict[str, Any]) -> ContainerSeen:
    """As the runtime would show it; in no sandbox, so that it proves nothing of one."""
    started_at = time_of(part.get("startedAt")) or 0.0
    return ContainerSeen(
        id=str(part.get("containerID") or told.get("containerID") or "").rpartition("://")[2],
        name=str(told["name"]),
        sandbox_id="",
        attempt=max(0, attempt),
        state=state,
        created_at=started_at,
        started_at=started_at,
        finished_at=time_of(part.get("finishedAt")) or 0.0,
        exit_code=_whole(part.get("exitCode")),
        reason=str(part.get("reason") or ""),
        message=str(part.get("message") or ""),
        image=str(told.get("image") or ""),
        image_ref=str(told.get("imageID") or ""),
        annotations={},
    )
