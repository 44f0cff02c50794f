"""The pods of the random schedules: every kind of container, hook, policy and rule."""

from collections.abc import Callable
from typing import Any

from tests.machines.pod import told
from tests.machines.pod.told import one, sidecar

from podherd.machines.pod.rules import RESTART_ALL, rule_action
from podherd.model.pod import Container, ContainerKind, Pod

GRACE_S = 5
DEADLINE_S = 200
HOOK = {"preStop": {"sleep": {"seconds": 1}}}
BOTH_HOOKS = {**HOOK, "postStart": {"exec": {"command": ["true"]}}}
NOT_ON_0 = [{"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [0]}}]
ALL_ON_1 = [{"action": RESTART_ALL, "exitCodes": {"operator": "In", "values": [1]}}]

SHAPES: tuple[Callable[[], dict[str, Any]], ...] = (
    lambda: {"app": ["main"]},
    lambda: {"app": ["main", "side"]},
    lambda: {"app": ["main"], "init": ["setup"]},
    lambda: {"app": ["main"], "init": ["setup", "fetch"]},
    lambda: {"app": ["main", "side"], "init": [sidecar("proxy", lifecycle=HOOK), "setup"]},
    lambda: {"app": ["main"], "init": [sidecar("proxy"), sidecar("log", lifecycle=BOTH_HOOKS)]},
    lambda: {"app": [one("main", lifecycle=BOTH_HOOKS)], "activeDeadlineSeconds": DEADLINE_S},
    lambda: {"app": [one("main", restartPolicy="Never"), one("side", restartPolicy="Always")]},
    lambda: {"app": [one("main", restartPolicy="Never", restartPolicyRules=NOT_ON_0), "side"], "init": ["setup"]},
    lambda: {
        "app": [one("main", restartPolicy="Never", restartPolicyRules=ALL_ON_1), "side"],
        "init": ["setup", sidecar("proxy")],
    },
    lambda: {"app": ["main"], "debug": ["probe", one("join", targetContainerName="main")]},
    lambda: {"app": ["main"], "init": ["setup", sidecar("proxy")], "activeDeadlineSeconds": DEADLINE_S},
)

PLAIN = (0, 1)
PAIRS = (1, 7)
INIT = (2, 3)
SIDECARS = (4, 5)
HOOKED = (4, 5, 6)
LATE = (6, 11)
RULED = (9,)
DEBUG = (10,)
"""Indices into SHAPES."""


def shaped(shape: int, uid: str, name: str, restart: str) -> Pod:
    """One of the shapes as a pod of a file."""
    given = SHAPES[shape % len(SHAPES)]()
    metadata = {"uid": uid, "name": name}
    return told.pod(restart=restart, metadata=metadata, terminationGracePeriodSeconds=GRACE_S, **given)


def container_of(pod: Pod, name: str) -> Container:
    return next(each for each in pod.every_container if each.name == name)


def plain_inits(pod: Pod) -> list[Container]:
    return [each for each in pod.init_containers if each.kind is ContainerKind.INIT]


def sidecars(pod: Pod) -> list[Container]:
    return [each for each in pod.init_containers if each.kind is ContainerKind.SIDECAR]


def hook_of(container: Container, kind: str) -> Any:
    return container.body.get("lifecycle", {}).get(kind)


def restarts_all(container: Container, code: int) -> bool:
    return rule_action(container, code) == RESTART_ALL


def runs_again(pod: Pod, container: Container, code: int) -> bool:
    """By policy, told once more than the machine tells it. A plain init container that ended well is done."""
    if container.kind in (ContainerKind.SIDECAR, ContainerKind.EPHEMERAL):
        return container.kind is ContainerKind.SIDECAR
    if container.kind is ContainerKind.INIT and code == 0:
        return False
    if rule_action(container, code):
        return True
    policy = container.restart_policy or pod.restart_policy
    return policy == "Always" or (policy == "OnFailure" and code != 0)
