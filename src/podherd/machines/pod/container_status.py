"""The v1.ContainerStatus of one container of any kind (kubelet behaviour, section 6.2)."""

from dataclasses import dataclass, replace
from typing import Any

from podherd.machines.pod.container_state import (
    COMPLETED_UNSEEN,
    LOST,
    RESTARTS_WITH_ALL,
    ended_with_all,
    terminated,
    used_to_run,
    waiting,
)
from podherd.machines.pod.init import failed, started
from podherd.machines.pod.phase import ended_badly, may_run_again, went_with_all
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import CREATED, EXITED, RUNNING, UNKNOWN, Record
from podherd.machines.pod.resize import given_resources
from podherd.machines.pod.restart import ALWAYS
from podherd.machines.pod.told_spec import Frame, Part, ToldSpec
from podherd.machines.pod.told_time import told_time
from podherd.model import keys
from podherd.model.clip import clipped
from podherd.model.pod import Container, ContainerKind
from podherd.model.status import STATUS_UNKNOWN
from podherd.wire.observed import ContainerSeen

Status = dict[str, Any]


@dataclass(frozen=True, slots=True)
class View:
    """One pod as its container statuses are made of it.

    initialised: it is, or it is over and once was. over: nothing is started any more. final: nor does anything run.
    """

    record: Record
    spec: ToldSpec
    policy: Policy
    initialised: bool
    over: bool
    final: bool


def container_status(view: View, frame: Frame) -> Status:
    """Newest instance as `state`, the one before it as `lastState`; waiting reasons over a past end.

    `started` and `ready` are the prober's word for regular containers and sidecars, the exit code's for others.
    """
    container, record = frame.container, view.record
    seen = record.newest.get(container.name)
    if seen is not None and (kept := _ended_for_good(view, container, seen)) is not None:
        return kept
    state, last = _states(view, container, seen)
    status: Status = {
        "name": container.name,
        "state": state,
        "lastState": last,
        "ready": False,
        "restartCount": restart_count(view, container, seen),
        "image": clipped(container.image),
        "imageID": "",
    }
    if container.kind is not ContainerKind.EPHEMERAL:
        running = "running" in state and started(record, container)
        status["started"] = running
        status["ready"] = _ended_well(state, seen) if container.kind is ContainerKind.INIT else running
    if frame.fixed:
        status.update(frame.fixed)
    if seen is not None:
        _add_seen(status, view, frame, seen)
    return status


def _ended_well(state: Part, seen: ContainerSeen | None) -> bool:
    return "terminated" in state and state["terminated"]["exitCode"] == 0 and (seen is None or not failed(seen))


def _add_seen(status: Status, view: View, frame: Frame, seen: ContainerSeen) -> None:
    """What only the runtime knows, and what the container was given when it was made."""
    status["image"] = seen.image or clipped(frame.container.image)
    status["imageID"] = seen.image_ref
    status["containerID"] = f"{view.policy.runtime_name}://{seen.id}"
    status.update(frame.held)
    if frame.container.name in view.record.unlike:
        status["resources"] = given_resources(view.record, frame.held["resources"], seen)
    if seen.user:
        uid, gid, *groups = seen.user
        status["user"] = {"linux": {"uid": uid, "gid": gid} | ({"supplementalGroups": groups} if groups else {})}


def restart_count(view: View, container: Container, seen: ContainerSeen | None) -> int:
    """From the annotation, which a wiped log directory cannot lower; else the CRI attempt. It never goes down.

    An instance that was lost, or went with all others, counts as restarted already, unless nothing starts it again.
    """
    record = view.record
    count = 0
    if seen is None:
        if record.restarted and (last := record.restarted.get(container.name)) is not None:
            count = _count_of(last) + (not view.over)
    else:
        count = _count_of(seen)
        if _is_lost(seen) and not view.over and may_run_again(view.spec.pod, container, seen):
            count += 1
    if count or record.told_counts:
        count = record.told_counts[container.name] = max(count, record.told_counts.get(container.name, 0))
    return count


def _count_of(seen: ContainerSeen) -> int:
    text = seen.annotations.get(keys.CONTAINER_RESTART_COUNT, "")
    return max(int(text), seen.attempt) if text.isdecimal() else seen.attempt


def _is_lost(seen: ContainerSeen) -> bool:
    return seen.state == UNKNOWN or (seen.state == EXITED and seen.reason == STATUS_UNKNOWN)


def _states(view: View, container: Container, seen: ContainerSeen | None) -> tuple[Part, Part]:
    record, runtime = view.record, view.policy.runtime_name
    before = record.previous.get(container.name)
    last = _last(record, before, runtime) if before is not None and before.state == EXITED else {}
    if seen is not None and seen.state == RUNNING:
        return {"running": {"startedAt": told_time(seen.started_at)}}, last
    if seen is None or seen.state == CREATED:
        return _not_started(view, container, seen), last
    if not _runs_again(view, container, seen):
        return terminated(seen, runtime), last
    if (failure := record.failures.get(container.name)) is not None:
        return waiting(failure.reason, failure.message), _last(record, seen, runtime)
    lost = seen.state == EXITED and seen.reason == STATUS_UNKNOWN
    if lost or (container.kind is ContainerKind.INIT and _is_elsewhere(record, seen)):
        return view.spec.quiet, _last(record, seen, runtime)
    return terminated(seen, runtime), last


def _last(record: Record, seen: ContainerSeen, runtime_name: str) -> Part:
    if record.restarted and went_with_all(record, seen):
        return ended_with_all(seen, runtime_name)
    if seen.reason == STATUS_UNKNOWN:
        return used_to_run(seen, runtime_name)
    return terminated(seen, runtime_name)


def _not_started(view: View, container: Container, seen: ContainerSeen | None) -> Part:
    """The first run is to come. Nothing comes of a pod that is over, and an init container's is behind it (3.3)."""
    if seen is None and container.kind is ContainerKind.INIT and view.initialised:
        return COMPLETED_UNSEEN
    if view.final and view.initialised and container.kind is not ContainerKind.EPHEMERAL:
        return LOST
    if (failure := view.record.failures.get(container.name)) is not None:
        return waiting(failure.reason, failure.message)
    if seen is not None:
        return {"waiting": {}}
    return RESTARTS_WITH_ALL if container.name in view.record.restarted else view.spec.quiet


def _runs_again(view: View, container: Container, seen: ContainerSeen) -> bool:
    """Whether a container that does not run will be started anew; a plain init container only until all have ended."""
    if view.over:
        return False
    if container.kind is not ContainerKind.INIT:
        return may_run_again(view.spec.pod, container, seen)
    if view.initialised:
        return False
    return _is_elsewhere(view.record, seen) or (ended_badly(seen) and may_run_again(view.spec.pod, container, seen))


def _is_elsewhere(record: Record, seen: ContainerSeen) -> bool:
    """Whether it ended in a sandbox that another one has replaced: init containers run once in each."""
    newest = record.sandboxes[0] if record.sandboxes else None
    return newest is not None and newest.ready and newest.id != seen.sandbox_id


def _ended_for_good(view: View, container: Container, seen: ContainerSeen) -> Status | None:
    """What was told of a regular container that had ended and that policy forbids to run again (section 6.4).

    A container that was told to have ended stays so, should the runtime come up with it once more; one whose end nobody
    saw may have been started again.
    """
    pod, record = view.spec.pod, view.record
    if seen.state not in (RUNNING, CREATED) or record.published is None or view.spec.may_restart_all:
        return None
    if container.kind is not ContainerKind.REGULAR or (container.restart_policy or pod.restart_policy) == ALWAYS:
        return None
    for told in record.published.status.get("containerStatuses") or ():
        if told["name"] == container.name and (end := told["state"].get("terminated")) is not None:
            if end["reason"] == STATUS_UNKNOWN:
                return None
            as_told = replace(seen, state=EXITED, exit_code=end["exitCode"])
            return None if may_run_again(pod, container, as_told) else told
    return None
