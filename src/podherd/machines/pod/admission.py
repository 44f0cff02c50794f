"""What the node refuses before anything of a pod runs (kubelet behaviour, section 2.6)."""

from podherd.machines.pod.instructions import Record as RecordEvent
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Record
from podherd.machines.pod.reports import pod_event
from podherd.model import sysctls
from podherd.model.pod import Pod
from podherd.model.status import FAILED, TERMINAL


def refuse(record: Record, pod: Pod, policy: Policy, now: float) -> list[RecordEvent]:
    """A pod that may not run here has failed; what runs of it under other rules of before is stopped.

    A static pod that was let in before stays: nobody but this runtime knows that it was, so the sources, which have
    begun anew, judge it as if it came now.
    """
    if record.ending is not None or record.phase in TERMINAL:
        return []
    if record.static and record.sandboxes:
        record.refusal = "", ""
    reason, why = record.refusal
    if not reason:
        why = sysctls.forbidden(pod.body["spec"], policy.allowed_unsafe_sysctls, policy.kernel)
        if not why:
            return []
        reason = sysctls.FORBIDDEN
    record.refused = True
    record.phase, record.reason, record.message = FAILED, reason, f"Pod was rejected: {why}"
    return [pod_event(record, now, "Warning", reason, why)]
