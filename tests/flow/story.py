"""What happened, in lines that a person can follow."""

from typing import Any

from podherd.machines.pod.events import Wanted
from podherd.machines.pod.instructions import Publish, Record, Sync
from podherd.wire.observed import Observed


def line_of(what: object) -> str:
    """One event or instruction, without the bodies."""
    match what:
        case Wanted(pod, cause):
            return f"Wanted {pod.name} {pod.uid} ({cause}) {_spec(pod.body['spec'])}"
        case Sync():
            plan = repr(what.plan).removeprefix("Plan")
            return f"Sync {what.name} {what.uid} #{what.plan_id} {_short(plan)}"
        case Publish():
            return f"Publish {what.name} {what.uid} {'deleting ' * what.deleting}{_status(what.status)}"
        case Observed():
            boxes = [f"{box.id}/{box.attempt}{'' if box.ready else ' dead'}" for box in what.sandboxes]
            procs = [f"{it.id} {it.name}/{it.attempt} {it.state} {it.exit_code}" for it in what.containers]
            return f"Observed {what.name} {what.uid} at {what.at:.3f} {boxes} {procs} {what.stale}"
        case Record(event):
            return f"Record {event.reason} {event.message}"
        case _:
            return repr(what)


def _spec(spec: dict[str, Any]) -> str:
    words = [f"restart {spec['restartPolicy']}", f"grace {spec['terminationGracePeriodSeconds']}"]
    if spec.get("activeDeadlineSeconds"):
        words.append(f"deadline {spec['activeDeadlineSeconds']}")
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for each in spec.get(kind) or ():
            hooks = {name: it.get("exec", it) for name, it in (each.get("lifecycle") or {}).items()}
            own = f" {each['restartPolicy']} {each.get('restartPolicyRules', '')}" if each.get("restartPolicy") else ""
            words.append(f"\n{'':24}{kind[:4]} {each['name']} {each['command']} {each['image']}{own} {hooks or ''}")
    return " ".join(words)


def _short(plan: str) -> str:
    for empty in ("kill=(), ", "stop_sandboxes=(), ", "remove_containers=(), ", "remove_sandboxes=(), ", "start=(), "):
        plan = plan.replace(empty, "")
    for usual in ("make_sandbox=None, ", ", pull_allowed=True", ", back_off=''", ", target_id=''", "clean_up=False, "):
        plan = plan.replace(usual, "")
    return plan


def _status(status: Any) -> str:
    words = [status["phase"], status.get("reason", "")]
    for kind in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for each in status.get(kind) or ():
            state, told = next(iter(each["state"].items()), ("?", {}))
            words.append(f"{each['name']}/{each['restartCount']} {state} {told.get('reason', '')}")
    return "; ".join(words)
