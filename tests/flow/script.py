"""Manifests by number: every kind of pod, and what the programs in it do, which their command tells.

A program is `["run", life_s, codes, term_s]`: it lives so long (`-`: for ever), exits with the code of its attempt (the
last one for all later ones), and ends so long after a SIGTERM (`-`: it ignores it). A hook is `["hook", seconds, ok]`.
"""

import os
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

from podherd.machines.sources.events import StaticPod
from podherd.model import keys
from podherd.model.defaults import set_defaults
from podherd.model.identity import make_static
from podherd.model.status import rfc3339_micro
from podherd.wire import codec

NODE_NAME = "n1"
VARIANTS = 60
"""How many editions of each pod there are."""
NEVER = "-"
KINDS = frozenset(os.environ.get("FLOW_KINDS", "init hooks policies deadline").split())


class Program(NamedTuple):
    """life_s None: for ever. term_s None: it ignores SIGTERM."""

    life_s: float | None
    codes: tuple[int, ...]
    term_s: float | None

    def code(self, attempt: int) -> int:
        return self.codes[min(attempt, len(self.codes) - 1)]


def program_of(body: Any) -> Program:
    _, life, codes, term = body["command"]
    return Program(_number(life), tuple(map(int, codes.split(","))), _number(term))


def hook_of(handler: Any) -> tuple[float, bool]:
    """How long a lifecycle handler takes, and whether it ends well."""
    if sleep := handler.get("sleep"):
        return float(sleep["seconds"]), True
    if command := (handler.get("exec") or {}).get("command"):
        return float(command[1]), command[2] == "ok"
    return 0.1, True


def runs_again(body: Any, pod_policy: str, code: int) -> bool:
    """Whether a regular container that ended with this code is to run again, told without the machine's rules."""
    policy = body.get("restartPolicy") or pod_policy
    for rule in body.get("restartPolicyRules") or () if body.get("restartPolicy") else ():
        if (code in rule["exitCodes"]["values"]) == (rule["exitCodes"]["operator"] == "In"):
            return True
    return bool(policy == "Always" or (policy == "OnFailure" and code))


def _number(text: str) -> float | None:
    return None if text == NEVER else float(text)


def _program(dice: Random, lives: tuple[str, ...]) -> list[str]:
    codes = dice.choice(("0", "1", "1,1,0", "0", "3", "7"))
    return ["run", dice.choice(lives), codes, dice.choice(("0.1", "0.1", "1", "4", NEVER))]


def _hook(dice: Random, seconds: tuple[str, ...]) -> dict[str, Any]:
    if dice.random() < 0.3:
        return {"sleep": {"seconds": dice.choice((1, 3))}}
    return {"exec": {"command": ["hook", dice.choice(seconds), dice.choice(("ok", "ok", "no"))]}}


def _container(dice: Random, name: str, lives: tuple[str, ...], hooks: bool = True) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": name,
        "image": f"reg.test/app:{dice.randrange(3)}",
        "command": _program(dice, lives),
    }
    lifecycle = {}
    hooks = hooks and "hooks" in KINDS
    if hooks and dice.random() < 0.3:
        lifecycle["preStop"] = _hook(dice, ("0.2", "2", "5", "600"))
    if hooks and dice.random() < 0.15:
        lifecycle["postStart"] = _hook(dice, ("0.2", "2", "20"))
    if lifecycle:
        body["lifecycle"] = lifecycle
    return body


_APP_LIVES = (NEVER, NEVER, NEVER, NEVER, "3", "30", "0.5")
_INIT_LIVES = ("0.3", "2", "8")


def _app(dice: Random, name: str) -> dict[str, Any]:
    body = _container(dice, name, _APP_LIVES)
    if dice.random() < 0.15 and "policies" in KINDS:
        body["restartPolicy"] = dice.choice(("Always", "OnFailure", "Never"))
        if dice.random() < 0.5:
            action = dice.choice(("Restart", "Restart", "RestartAllContainers"))
            codes = {"operator": dice.choice(("In", "NotIn")), "values": [3]}
            body["restartPolicyRules"] = [{"action": action, "exitCodes": codes}]
    return body


def _init(dice: Random, name: str) -> dict[str, Any]:
    if dice.random() < 0.5:
        return {**_container(dice, name, (NEVER, NEVER, NEVER, "20")), "restartPolicy": "Always"}
    body = _container(dice, name, _INIT_LIVES, hooks=False)
    body["command"][2] = dice.choice(("0", "0", "0", "1,0", "1"))
    return body


def spec_of(name: str, variant: int) -> dict[str, Any]:
    """The pod spec of one edition: variant 0 is the plainest."""
    dice = Random(f"{name} {variant}")
    if variant == 0:
        return {"containers": [{"name": "a", "image": "reg.test/app:0", "command": ["run", NEVER, "0", "0.1"]}]}
    spec: dict[str, Any] = {
        "containers": [_app(dice, each) for each in ("a", "b", "c")[: dice.choice((1, 1, 2, 3))]],
        "restartPolicy": dice.choice(("Always", "Always", "Always", "OnFailure", "Never")),
        "terminationGracePeriodSeconds": dice.choice((1, 3, 6, 10)),
    }
    if variant % 3 == 1 and "init" in KINDS:
        spec["initContainers"] = [_init(dice, each) for each in ("i", "j", "k")[: dice.choice((1, 2, 3))]]
    if dice.random() < 0.1 and "deadline" in KINDS:
        spec["activeDeadlineSeconds"] = dice.choice((20, 60))
    if dice.random() < 0.15:
        spec["hostNetwork"] = True
    return spec


def _body(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    set_defaults(body)
    return body


@lru_cache(maxsize=4096)
def _static(source: str, origin: str, name: str, variant: int, uid: str) -> tuple[str, str, str, bytes]:
    body = _body(name, spec_of(name, variant))
    if uid:
        body["metadata"]["uid"] = uid
    content = make_static(body, NODE_NAME, source, f"{source}:{origin}")
    metadata = body["metadata"]
    metadata["annotations"][keys.CONFIG_SEEN] = ""
    return metadata["uid"], metadata["name"], content, codec.pack(body)


def static_pod(source: str, origin: str, name: str, variant: int, uid: str, now: float) -> StaticPod:
    """What the reader of `origin` makes of this edition. uid: the manifest's `metadata.uid`, empty for none."""
    uid, full, content, packed = _static(source, origin, name, variant, uid)
    body = codec.unpack(packed)
    body["metadata"]["annotations"][keys.CONFIG_SEEN] = rfc3339_micro(now)
    return StaticPod(uid, "default", full, content, codec.pack(body))


def api_body(name: str, uid: str, variant: int) -> dict[str, Any]:
    """A pod as the API server would hand it over."""
    body = _body(name, spec_of(name, variant))
    body["metadata"] |= {"namespace": "default", "uid": uid, "generation": 1}
    body["spec"]["nodeName"] = NODE_NAME
    return body


def ephemeral(number: int, target: str) -> dict[str, Any]:
    """An ephemeral container to add to a running pod."""
    dice = Random(f"ephemeral {number}")
    life = dice.choice((NEVER, "5"))
    return {
        "name": f"debug{number}", "image": "reg.test/app:0", "imagePullPolicy": "IfNotPresent",
        "command": ["run", life, "0", "0.1"], "targetContainerName": target,
    }  # fmt: skip
