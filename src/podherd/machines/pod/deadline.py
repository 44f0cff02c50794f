"""activeDeadlineSeconds: a pod that is still active too long after its start has failed (kubelet behaviour, 6.1)."""

from podherd.machines.pod.instructions import Record as RecordEvent
from podherd.machines.pod.record import Record
from podherd.machines.pod.reports import pod_event
from podherd.model.status import FAILED, TERMINAL

REASON = "DeadlineExceeded"
MESSAGE = "Pod was active on the node longer than the specified deadline"


def deadline_at(record: Record) -> float | None:
    """When the pod will have been active for too long; None for never."""
    limit_s = record.pod.active_deadline_s if record.pod is not None else None
    if limit_s is None or record.ending is not None or record.phase in TERMINAL:
        return None
    return record.first_seen + limit_s


def fail_if_late(record: Record, now: float) -> list[RecordEvent]:
    """Once the deadline is past the pod has failed, and what runs of it is stopped as in any pod that has."""
    due = deadline_at(record)
    if due is None or now < due:
        return []
    record.phase, record.reason, record.message = FAILED, REASON, MESSAGE
    return [pod_event(record, now, "Normal", REASON, MESSAGE)]
