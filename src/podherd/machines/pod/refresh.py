"""Files in a pod's volumes that tell of other things, written anew when those change (kubelet behaviour, 13.1)."""

from podherd.machines.pod.decision import EMPTY, Decision
from podherd.machines.pod.instructions import Plan
from podherd.machines.pod.record import LIVE, Record
from podherd.machines.times import NEVER_AT
from podherd.model.pod import Pod
from podherd.model.status import CREATE_CONFIG_ERROR

KINDS = ("configMap", "secret", "projected", "downwardAPI")
VOLUMES = "volumes"
"""The step that makes volumes ready."""
_OF_DRIVERS = frozenset({VOLUMES, "release", "clean_up"})
"""Steps that need CSI drivers."""


def has_content(pod: Pod) -> bool:
    """Whether a volume of it shows what an object or the pod itself says."""
    return any(volume.get(kind) for volume in pod.body["spec"].get("volumes") or () for kind in KINDS)


def objects_changed(record: Record, now: float) -> None:
    """What failed for want of an object is tried at once; files in volumes are due."""
    if record.pod is None:
        return
    if record.running is not None:
        record.running.news = True
    if record.hold_step == VOLUMES:
        record.hold_until = NEVER_AT
    for name, failure in record.failures.items():
        if failure.reason == CREATE_CONFIG_ERROR and failure.retry_at > now:
            record.failures[name] = failure.at(now)
    if has_content(record.pod):
        record.refresh_at = now


def volumes_changed(record: Record) -> bool:
    """Drivers or attached volumes are others: whether the pod waits for them. A sync that runs may just miss them."""
    if record.running is not None:
        record.running.node_news = True
    waits = record.hold_step in _OF_DRIVERS and record.hold_until != NEVER_AT
    if waits:
        record.hold_until = NEVER_AT
    return waits


def refreshed(record: Record, decision: Decision, now: float) -> Decision:
    """The decision, with the volumes' files where they are due and nothing else is to be done for a pod that runs."""
    due = record.refresh_at
    if due is None or decision.plan != EMPTY or not any(seen.state in LIVE for seen in record.containers):
        return decision
    if now < due:
        decision.waits.append(due)
    else:
        decision.plan = Plan(refresh=True, why="what its volumes show has changed")
    return decision
