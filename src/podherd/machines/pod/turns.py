"""One live pod per full name: a new uid waits until the old one has ended (kubelet behaviour, section 2.3)."""

from podherd.machines.pod.herd import Herd
from podherd.machines.pod.record import Record
from podherd.machines.pod.terminate import grace_s
from podherd.model.status import TERMINAL


def must_wait(herd: Herd, record: Record) -> bool:
    """Whether another pod of this full name runs, or came first and will run."""
    return any(other.live or _goes_first(other, record, herd) for other in herd.namesakes(record))


def _goes_first(other: Record, record: Record, herd: Herd) -> bool:
    if other.ending is not None or other.pod is None or other.phase in TERMINAL:
        return False
    uids = herd.names[record.namespace, record.name]
    return uids.index(other.uid) < uids.index(record.uid)


def end_replaced(herd: Herd, record: Record) -> None:
    """End what an older edition of a static pod left in the runtime, before all sources are seen too (case SRC-3).

    Foreign pods wait for their source; an older edition needs none, since the file that made it now says otherwise.
    """
    pods = [*herd.namesakes(record), record]
    heir = next((pod for pod in pods if pod.pod is not None and pod.static and pod.ending is None), None)
    if heir is None:
        return
    for pod in pods:
        if pod.pod is None and pod.static and pod.ending is None and pod.uid not in herd.wanted:
            pod.end(f"replaced by {heir.uid}", grace_s(pod))
            herd.touched[pod.uid] = None
