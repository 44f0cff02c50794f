"""What is to be done about one container, and whether it may run again (kubelet behaviour, section 3.4)."""

from dataclasses import dataclass, replace

from podherd.machines.pod.record import EXITED, RUNNING, UNKNOWN
from podherd.machines.pod.rules import RESTART, RESTART_ALL, rule_action
from podherd.model.hashing import same_container
from podherd.model.pod import Container, ContainerKind, Pod
from podherd.model.status import STATUS_UNKNOWN_EXIT
from podherd.wire.observed import ContainerSeen

ALWAYS = "Always"
ON_FAILURE = "OnFailure"
RESTART_NEVER = "Never"


@dataclass(frozen=True, slots=True)
class Verdict:
    """keep: it runs and may. start: it shall run anew. kill: why the running one is stopped first. None: done."""

    keep: bool = False
    start: bool = False
    kill: str = ""


KEEP = Verdict(keep=True)
START = Verdict(start=True)
DONE = Verdict()


def judge(pod: Pod, container: Container, seen: ContainerSeen | None, sandbox_id: str) -> Verdict:
    """`seen` is the newest instance, `sandbox_id` the sandbox that serves now."""
    if seen is not None and seen.state == RUNNING:
        return _running(container, seen, sandbox_id)
    if seen is not None and seen.state == UNKNOWN:
        why = f"Container {container.name} is in unknown state, try killing it before restart"
        return Verdict(start=True, kill=why)
    return START if may_restart(pod, container, seen) else DONE


def judge_anew(pod: Pod, container: Container, seen: ContainerSeen | None) -> Verdict:
    """For a new sandbox: what runs now is killed with the old one, and starts again where policy lets it."""
    if seen is not None and seen.state in (RUNNING, UNKNOWN):
        seen = replace(seen, state=EXITED, exit_code=STATUS_UNKNOWN_EXIT)
    return START if may_restart(pod, container, seen) else DONE


def restartable(pod: Pod) -> bool:
    """Whether some container of the pod may run a second time by the pod's policy, its own, or its rules."""
    if pod.restart_policy != RESTART_NEVER:
        return True
    containers = (*pod.init_containers, *pod.containers)
    return any(
        each.kind is not ContainerKind.SIDECAR
        and (each.restart_policy not in ("", RESTART_NEVER) or bool(each.body.get("restartPolicyRules")))
        for each in containers
    )


def may_restart(pod: Pod, container: Container, seen: ContainerSeen | None) -> bool:
    """Whether policy lets a container start whose newest instance does not run; one that never ran may always start.

    In this order: its own rules, its own policy, the pod's. A sidecar always may, an ephemeral container only once.
    """
    if seen is None or (seen.state != EXITED and container.kind is not ContainerKind.EPHEMERAL):
        return True
    if container.kind is ContainerKind.EPHEMERAL:
        return False
    if container.restart_policy and rule_action(container, seen.exit_code) in (RESTART, RESTART_ALL):
        return True
    policy = container.restart_policy or pod.restart_policy
    if policy == ON_FAILURE:
        return seen.exit_code != 0
    return policy == ALWAYS


def _running(container: Container, seen: ContainerSeen, sandbox_id: str) -> Verdict:
    if not same_container(seen.annotations, container.name, container.image, seen.image):
        return Verdict(start=True, kill=f"Container {container.name} definition changed, will be restarted")
    if seen.sandbox_id != sandbox_id:
        return Verdict(start=True, kill=f"Container {container.name} runs in an old sandbox, will be restarted")
    return KEEP
