"""What to change in the status that the API server holds, given the local one (kubelet behaviour, section 6.4).

The answer is a strategic merge patch of a v1.PodStatus: conditions merge by type, addresses are replaced as a list,
container statuses are atomic, null removes.
"""

from collections.abc import Mapping
from typing import Any

from podherd.machines.pod.told_time import told_time
from podherd.machines.status.conditions import conditions_patch
from podherd.machines.status.restarts import may_leave
from podherd.machines.status.same import same, whole_seconds
from podherd.model.status import TERMINAL

Status = dict[str, Any]
Part = Mapping[str, Any]

CONTAINER_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_OURS = ("reason", "message", *CONTAINER_LISTS, "resize", "resources", "allocatedResources")
"""What is taken away where the local status has it no more. Addresses are not: a node that begins anew may not know
them yet, and of a pod that is over they are history."""
_OTHERS = frozenset({"conditions", "resourceClaimStatuses", "extendedResourceClaimStatus", "nominatedNodeName"})
"""What has another owner, or a rule of its own."""
_FIXED = ("startTime", "qosClass")
"""What the API server knows once and for all."""
_BY_KEY = frozenset({"podIPs", "hostIPs"})
"""Lists that a strategic merge would join by key."""
_WHY = ("phase", "reason", "message")


def merge(held: Part, local: Part, restarts: Part, now: float, *, stopped: bool) -> Status | None:
    """The patch of `status` that makes `held` what `local` says, or None where they say the same.

    restarts: of `restarts_of`. stopped: nothing of the pod runs or will; its containers' states alone do not tell.
    """
    wanted = dict(local)
    terminal = _settle_phase(held, wanted, stopped)
    for kind in CONTAINER_LISTS[:2]:
        if held.get(kind) and wanted.get(kind):
            wanted[kind] = _ends_kept(held[kind], wanted[kind], restarts)
    wanted["startTime"] = held.get("startTime") or local.get("startTime") or told_time(now)
    patch = {key: _replaced(key, value) for key, value in wanted.items() if _is_news(key, value, held)}
    patch |= {key: None for key in _OURS if held.get(key) and not wanted.get(key)}
    if changes := conditions_patch(held, local, wanted["phase"], terminal, now):
        patch["conditions"] = changes
    return patch or None


def _settle_phase(held: Part, wanted: Status, stopped: bool) -> bool:
    """Put the phase that may be told into `wanted`; whether the pod becomes terminal by it.

    The API's is kept where it is terminal already, or where something of the pod may still run.
    """
    phase, told = wanted.get("phase", ""), held.get("phase", "")
    ends = phase in TERMINAL and told not in TERMINAL
    if (told in TERMINAL and phase != told) or (ends and not stopped):
        for key in _WHY:
            wanted.pop(key, None)
            if value := held.get(key):
                wanted[key] = value
        ends = False
    wanted.setdefault("phase", told)
    return ends


def _ends_kept(held: list[Part], local: list[Part], restarts: Part) -> list[Part]:
    """The local statuses, but for containers that have ended for good by what the API was told."""
    ended = {each.get("name", ""): each for each in held if _ended_for_good(each, restarts)}
    if not ended:
        return local
    return [ended[each["name"]] if _goes_back(each, ended) else each for each in local]


def _ended_for_good(status: Part, restarts: Part) -> bool:
    end = (status.get("state") or {}).get("terminated")
    return end is not None and not may_leave(restarts, status.get("name", ""), end.get("exitCode", 0))


def _goes_back(status: Part, ended: Mapping[str, Part]) -> bool:
    return status["name"] in ended and "terminated" not in (status.get("state") or {})


def _is_news(key: str, value: Any, held: Part) -> bool:
    if key in _OTHERS or value is None or (key in _FIXED and held.get(key)):
        return False
    return not same({key: value}, {key: held.get(key)})


def _replaced(key: str, value: Any) -> Any:
    """As a strategic merge patch says `this and nothing else`."""
    if key in _BY_KEY:
        return [{"$patch": "replace"}, *value]
    if isinstance(value, Mapping):
        return {"$patch": "replace", **value}
    return whole_seconds(value) if key == "startTime" else value
