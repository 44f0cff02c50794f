"""Pods whose containers never end by themselves, as users saw them: one life of each, and each step a step ahead.

Stricter than the audit's judge, which allows what restarts bring. One thing is allowed: a start that was under way when
who asked for it died, or the runtime, is cut off by the runtime, which says so, and another one follows. The kubelet's
containers have the same, since a call to the runtime ends with its caller.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.kit.audit import KINDS

ORDER = ("waiting", "running", "terminated")
CUT_OFF = frozenset({"StartError", "Unknown", "ContainerStatusUnknown"})
"""Reasons of an end that is the runtime's own: containerd's words, and the kubelet's for a state that is unknown."""
PHASES = ("Pending", "Running", "Succeeded", "Failed")
Pod = dict[str, Any]


@dataclass
class _Life:
    """The furthest that was seen of a pod. states, ids: of each container that has run, by name."""

    phase: str = ""
    ip: str = ""
    ready: bool = False
    states: dict[str, str] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


def disturbed(versions: Iterable[tuple[str, Pod]], *, steady: bool = True) -> list[str]:
    """Each step that such a pod may not take. versions: kind and pod, in order.

    steady: a pod that was Ready also stays it until it is to be deleted, as long as the cluster hears of its node.
    """
    lives: dict[str, _Life] = {}
    found = []
    for _, pod in versions:
        meta = pod["metadata"]
        life = lives.setdefault(meta["uid"], _Life())
        wrong = [*_pod_wrong(life, pod, steady), *_containers_wrong(life, pod["status"])]
        found += (f"{meta['name']}: {text} (version {meta['resourceVersion']})" for text in wrong)
    return found


def _pod_wrong(life: _Life, pod: Pod, steady: bool) -> Iterator[str]:
    status = pod["status"]
    phase, ip = status.get("phase", ""), status.get("podIP", "")
    if life.phase and PHASES.index(phase) < PHASES.index(life.phase):
        yield f"phase {life.phase}, then {phase}"
    if life.ip and ip != life.ip and phase == "Running":
        yield f"IP {life.ip}, then {ip or 'none'}"
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions", ()))
    if steady and life.ready and not ready and "deletionTimestamp" not in pod["metadata"]:
        yield "Ready no more"
    life.phase, life.ip, life.ready = phase, ip, ready


def _containers_wrong(life: _Life, status: dict[str, Any]) -> Iterator[str]:
    told = {one["name"]: one for kind in KINDS for one in status.get(kind) or ()}
    for name in life.states.keys() - told.keys():
        yield f"{name}: told of no more"
    for name, one in told.items():
        (state,) = one["state"]
        ident, last = one.get("containerID", ""), life.states.get(name, ORDER[0])
        if ORDER.index(state) < ORDER.index(last):
            yield f"{name}: {last}, then {state}"
        if ident != life.ids.get(name, ident):
            yield f"{name}: {life.ids[name]}, then {ident or 'no id'}"
        ends = [part["terminated"] for part in (one["state"], one.get("lastState") or {}) if "terminated" in part]
        if any(_is_bad(end) for end in ends):
            yield f"{name}: ended with {ends[0]['exitCode']}"
        if state == "running" or name in life.states or any(end["exitCode"] == 0 for end in ends):
            life.states[name], life.ids[name] = state, ident


def _is_bad(end: dict[str, Any]) -> bool:
    return bool(end["exitCode"]) and end.get("reason") not in CUT_OFF


def cut_off(versions: Iterable[tuple[str, Pod]]) -> Counter[tuple[str, str]]:
    """How many starts the runtime told to have been cut off, by the pod's uid and the container's name."""
    found = set()
    for _, pod in versions:
        for one in (one for kind in KINDS for one in pod["status"].get(kind) or ()):
            for part in (one["state"], one.get("lastState") or {}):
                end = part.get("terminated") or {}
                if end.get("reason") in CUT_OFF:
                    found.add((pod["metadata"]["uid"], one["name"], end.get("containerID", "")))
    return Counter((uid, name) for uid, name, _ in found)
