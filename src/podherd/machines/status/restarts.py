"""Which containers of a pod may leave the state `terminated`, by its spec (kubelet behaviour, section 6.4)."""

from collections.abc import Mapping
from typing import Any

from podherd.machines.pod.restart import ALWAYS, ON_FAILURE
from podherd.machines.pod.rules import RESTART, RESTART_ALL
from podherd.wire import codec

Part = Mapping[str, Any]
_OWN = ("restartPolicy", "restartPolicyRules")
_FREE: Part = {"policy": ALWAYS}


def told_restarts(spec: Part) -> bytes:
    """What `restarts_of` needs of a v1.PodSpec, as the wire carries it: the pod's policy and containers' own.

    msgpack of {"policy": str, "own": {container name: {"restartPolicy", "restartPolicyRules"}}}; no "own" for none.
    """
    told: dict[str, Any] = {"policy": spec.get("restartPolicy") or ALWAYS}
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    own = {each["name"]: {key: each[key] for key in _OWN if each.get(key)} for each in containers}
    if own := {name: words for name, words in own.items() if words}:
        told["own"] = own
    return codec.pack(told)


def restarts_of(told: bytes) -> Part:
    """The rules again. Where nothing was told, every container may start again."""
    return codec.unpack(told) if told else _FREE


def may_leave(restarts: Part, container: str, exit_code: int) -> bool:
    """Whether the named container may run again after it has ended so: its own rules, its own policy, the pod's."""
    own = restarts.get("own") or {}
    rules = [rule for words in own.values() for rule in words.get("restartPolicyRules") or ()]
    if any(rule.get("action") == RESTART_ALL for rule in rules):
        return True
    mine = own.get(container) or {}
    if any(_speaks_of(rule, exit_code) for rule in mine.get("restartPolicyRules") or ()):
        return True
    policy = mine.get("restartPolicy") or restarts["policy"]
    return policy == ALWAYS or (policy == ON_FAILURE and exit_code != 0)


def _speaks_of(rule: Part, exit_code: int) -> bool:
    codes = rule.get("exitCodes") or {}
    listed = exit_code in (codes.get("values") or ())
    return rule.get("action") == RESTART and codes.get("operator") == ("In" if listed else "NotIn")
