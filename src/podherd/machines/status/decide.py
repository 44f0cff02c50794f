"""The next request for one pod name, if any, by what is known of it."""

from dataclasses import dataclass
from typing import TypeAlias

from podherd.machines.status.instructions import CreateMirror, DeletePod, PatchStatus
from podherd.machines.status.lane import Flight, Lane, Name
from podherd.machines.status.merge import Status, merge
from podherd.machines.status.mirror import mirror_body
from podherd.machines.status.restarts import restarts_of
from podherd.model.keys import SOURCE_API
from podherd.model.status import TERMINAL
from podherd.wire import codec
from podherd.wire.api import ApiPod
from podherd.wire.status import StatusChanged

SETTLE_S = 2.0
"""How long an API object must be without a pod here before it is deleted: as the kubelet's housekeeping, and time for
shards to tell of a pod that still ends."""


@dataclass(slots=True)
class Node:
    """What holds for all pods. listed: all of the API's pods are known; complete: all static pods are."""

    name: str
    uid: str = ""
    deleting: bool = False
    listed: bool = False
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing before this time."""

    until: float


Next: TypeAlias = Flight | Wait | None


def decide(name: Name, lane: Lane, node: Node, now: float) -> Next:
    """What to do for the name now."""
    if lane.flight is not None:
        return None
    if lane.failures.until > now:
        return Wait(lane.failures.until)
    if (held := lane.held) is None:
        return _new_mirror(name, lane, node)
    if why := _unclaimed(lane, held, node):
        since = lane.free_at = now if lane.free_at is None else lane.free_at
        return _delete(held, why) if now >= since + SETTLE_S else Wait(since + SETTLE_S)
    lane.free_at = None
    return _mirrored(lane, held, now) if held.mirror_of else _served(lane, held, now)


def _unclaimed(lane: Lane, held: ApiPod, node: Node) -> str:
    """Why the API's object has no pod here; empty for one that has, or still may have."""
    if held.mirror_of:
        ending = any(local.source != SOURCE_API and not local.finished for local in lane.locals.values())
        free = lane.static is None and node.complete and not ending
        return "no static pod has this name" if free else ""
    free = lane.static is not None and held.deleting and lane.local() is None
    return "a static pod has its name: it never ran" if free else ""


def _new_mirror(name: Name, lane: Lane, node: Node) -> Next:
    """Only under a Node that stays, and once it is known that there is none (kubelet behaviour, section 1.6)."""
    if lane.static is None or not node.listed or not node.uid or node.deleting:
        return None
    return Flight(CreateMirror(*name, mirror_body(codec.unpack(lane.static.body), node.name, node.uid)))


def _mirrored(lane: Lane, held: ApiPod, now: float) -> Next:
    """A mirror that is not its static pod's, or that somebody deletes, goes; a new one takes its place."""
    if lane.static is not None and lane.static.mark != held.mirror_of:
        return _delete(held, "the static pod is another one now")
    if lane.static is not None and held.deleting:
        return _delete(held, "somebody deletes it; the static pod stays")
    return _patch(lane, held, lane.local(), now)


def _served(lane: Lane, held: ApiPod, now: float) -> Next:
    """A pod of the API: told as it is, and deleted once all of it is over (kubelet behaviour, section 6.6)."""
    local = lane.local()
    if local is None:
        return None
    patch = _patch(lane, held, local, now)
    if not isinstance(patch, Flight) and held.deleting and local.finished and _is_over(held):
        return _delete(held, "all of it is over")
    return patch


def _is_over(held: ApiPod) -> bool:
    return codec.unpack(held.status).get("phase") in TERMINAL


def _delete(held: ApiPod, why: str) -> Flight:
    return Flight(DeletePod(held.namespace, held.name, held.uid, why))


def _patch(lane: Lane, held: ApiPod, local: StatusChanged | None, now: float) -> Next:
    if local is None:
        return None
    status = changes(held, local, now)
    if status is None:
        return None
    if (due := lane.repeats.due(status, held.uid)) > now:
        return Wait(due)
    patch = {"metadata": _aim(held, status), "status": status}
    return Flight(PatchStatus(held.namespace, held.name, held.uid, patch), local)


def changes(held: ApiPod, local: StatusChanged, now: float) -> Status | None:
    """What the status of the API's object lacks; None for nothing."""
    restarts, stopped = restarts_of(held.restarts), local.stopped or local.finished
    return merge(codec.unpack(held.status), codec.unpack(local.status), restarts, now, stopped=stopped)


def _aim(held: ApiPod, status: Status) -> dict[str, str]:
    """Never another pod of the name. A phase only onto the object that it was worked out for.

    A request that a stalled server finds again, long after it was given up, must not undo an end.
    """
    return {"uid": held.uid} | ({"resourceVersion": held.resource_version} if "phase" in status else {})
