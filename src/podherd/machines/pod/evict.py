"""Ending a pod for the node's sake: eviction, preemption, shutdown (kubelet behaviour, sections 2.3, 8.5 and 8.6)."""

from podherd.machines.pod.instructions import Instruction, Over
from podherd.machines.pod.over import is_over
from podherd.machines.pod.record import Record
from podherd.machines.pod.reports import pod_event
from podherd.machines.pod.terminate import MIN_POD_GRACE_S, grace_s
from podherd.model.status import TERMINAL
from podherd.wire.evict import Evict

TOLD = frozenset({"Evicted", "Preempting"})
"""Reasons that an event of the same name tells."""


def evict(record: Record, order: Evict, now: float) -> list[Instruction]:
    """Begin to end it, or shorten its end; a pod that is over stays as it is, and that it is over is told once more."""
    if record.over_told and is_over(record):
        return [Over(record.uid)]
    if record.pod is None or record.phase in TERMINAL or (record.ending is not None and not record.live):
        return []
    own_s = grace_s(record)
    first, record.order = record.order is None, record.order or order
    limit_s = own_s if order.grace_s < 0 else max(MIN_POD_GRACE_S, order.grace_s)
    record.end(order.reason, min(own_s, limit_s), deleted=False)
    if not first or order.reason not in TOLD:
        return []
    return [pod_event(record, now, "Warning", order.reason, order.message)]


def overlay(record: Record) -> None:
    """Once nothing of an evicted pod runs it has failed for the order's reason, however its containers ended."""
    if record.order is not None and record.phase not in TERMINAL:
        record.reason, record.message = record.order.reason, record.order.message
