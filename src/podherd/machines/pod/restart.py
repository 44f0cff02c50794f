"""What is to be done about one regular container (kubelet behaviour, section 3.4)."""

from dataclasses import dataclass

from podherd.machines.pod.record import EXITED, RUNNING, UNKNOWN
from podherd.model.hashing import same_container
from podherd.model.pod import Container, Pod
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
    return START if may_restart(pod, seen) else DONE


def judge_anew(pod: Pod, seen: ContainerSeen | None) -> Verdict:
    """For a new sandbox: what runs now dies with the old one, so it starts again unless the policy is Never."""
    if seen is not None and seen.state in (RUNNING, UNKNOWN):
        return DONE if pod.restart_policy == RESTART_NEVER else START
    return START if may_restart(pod, seen) else DONE


def may_restart(pod: Pod, seen: ContainerSeen | None) -> bool:
    """The restart policy over an instance that does not run; one that never ran may always start."""
    if seen is None or seen.state != EXITED:
        return True
    if pod.restart_policy == ON_FAILURE:
        return seen.exit_code != 0
    return pod.restart_policy == ALWAYS


def _running(container: Container, seen: ContainerSeen, sandbox_id: str) -> Verdict:
    if not same_container(seen.annotations, container.name, container.image, seen.image):
        return Verdict(start=True, kill=f"Container {container.name} definition changed, will be restarted")
    if seen.sandbox_id != sandbox_id:
        return Verdict(start=True, kill=f"Container {container.name} runs in an old sandbox, will be restarted")
    return KEEP
