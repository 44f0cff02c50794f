"""The conditions of a pod in a patch: the agent's own, and the one it shares (kubelet behaviour, section 6.3)."""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.machines.pod.told_spec import OWN_CONDITIONS
from podherd.machines.pod.told_time import told_time
from podherd.machines.status.same import same, whole_seconds
from podherd.model.status import SUCCEEDED, TERMINAL

SHARED = "DisruptionTarget"
_READY = frozenset({"Ready", "ContainersReady"})
_MAY_GO = ("reason", "message", "observedGeneration")
Part = Mapping[str, Any]
Condition = dict[str, Any]


def conditions_patch(held: Part, local: Part, phase: str, ends: bool, now: float) -> list[Condition]:
    """The conditions to change, by type; empty for none. Those of other owners are never in it.

    phase: the one that will be told. ends: it becomes terminal now, which alone publishes the shared condition.
    """
    there = {each.get("type", ""): each for each in held.get("conditions") or ()}
    wanted = {each["type"]: each for each in _ours(local, ends)}
    patch = list(_changed(there, wanted, phase, now))
    gone = (kind for kind in there if kind in OWN_CONDITIONS and kind not in wanted)
    return patch + [{"$patch": "delete", "type": kind} for kind in gone]


def _ours(local: Part, ends: bool) -> Iterator[Part]:
    for condition in local.get("conditions") or ():
        if condition["type"] in OWN_CONDITIONS or (ends and condition["type"] == SHARED):
            yield condition


def _changed(there: Mapping[str, Part], wanted: Mapping[str, Part], phase: str, now: float) -> Iterator[Condition]:
    for kind, condition in wanted.items():
        old = there.get(kind) or {}
        new = _as_of(old, _never_ready(condition, phase, now))
        if not same(new, old):
            yield new | {key: None for key in _MAY_GO if old.get(key) and not new.get(key)}


def _never_ready(condition: Part, phase: str, now: float) -> Condition:
    """A pod that is over is not ready, whatever the node has not seen yet."""
    told = {key: value for key, value in condition.items() if value is not None}
    if phase in TERMINAL and condition["type"] in _READY and condition["status"] == "True":
        reason = "PodCompleted" if phase == SUCCEEDED else "PodFailed"
        told |= {"status": "False", "reason": reason, "lastTransitionTime": told_time(now)}
        told.pop("message", None)
    return told


def _as_of(old: Part, new: Condition) -> Condition:
    """With the API's time where the status is the API's: a node that begins anew does not know since when it holds."""
    if old.get("status") == new["status"] and old.get("lastTransitionTime"):
        new["lastTransitionTime"] = old["lastTransitionTime"]
    elif time := new.get("lastTransitionTime"):
        new["lastTransitionTime"] = whole_seconds(time)
    if old.get("lastProbeTime") and "lastProbeTime" not in new:
        new["lastProbeTime"] = old["lastProbeTime"]
    return new
