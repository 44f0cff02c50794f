"""Stopping a pod and clearing it away (kubelet behaviour, sections 2.5, 3.8 and 15)."""

from podherd.machines.pod.instructions import KillContainer, Plan
from podherd.machines.pod.record import LIVE, Record
from podherd.model import keys

ORPHAN_GRACE_S = 1
MIN_POD_GRACE_S = 1
MIN_STOP_GRACE_S = 2
"""What StopContainer is given at least."""
DEFAULT_GRACE_S = 30


def grace_s(record: Record) -> int:
    """The pod's grace: the one of its deletion, else of its spec; of a pod without spec what its containers carry.

    A pod that only the runtime knows gets 1 s, but a static one its own grace: its file went while nobody watched.
    """
    if record.pod is not None:
        deletion = record.pod.body["metadata"].get("deletionGracePeriodSeconds")
        return max(MIN_POD_GRACE_S, record.pod.grace_s if deletion is None else deletion)
    return max(MIN_POD_GRACE_S, _carried_grace_s(record)) if record.static else ORPHAN_GRACE_S


def stop_grace_s(record: Record) -> int:
    """What StopContainer is given for one container of a pod that lives on."""
    return max(MIN_STOP_GRACE_S, grace_s(record))


def _carried_grace_s(record: Record) -> int:
    for seen in record.containers:
        for key in (keys.POD_DELETION_GRACE_PERIOD, keys.POD_TERMINATION_GRACE_PERIOD):
            if (text := seen.annotations.get(key, "")).isdecimal():
                return int(text)
    return DEFAULT_GRACE_S


def ready_sandboxes(record: Record) -> tuple[str, ...]:
    """Ids, newest first."""
    return tuple(sandbox.id for sandbox in record.sandboxes if sandbox.ready)


def stop_all(record: Record, grace: int) -> Plan:
    """Stop every container in parallel, then the sandboxes. Empty when nothing runs."""
    stop_s = max(MIN_STOP_GRACE_S, grace)
    kill = tuple(
        KillContainer(seen.id, seen.name, stop_s, f"Stopping container {seen.name}")
        for seen in record.containers
        if seen.state in LIVE
    )
    return Plan(kill=kill, stop_sandboxes=ready_sandboxes(record))


def end_kill(record: Record, now: float) -> Plan:
    """`stop_all` with what is left of the ending's grace: a second order gives no second grace (case TERM-1)."""
    ending = record.ending
    if ending is None:
        return Plan()
    begun = now if ending.kill_at is None else ending.kill_at
    return stop_all(record, int(ending.grace_s - (now - begun)))


def remove_all(record: Record) -> Plan:
    """The last deed for a pod: its dead containers and sandboxes, directories and logs."""
    return Plan(
        remove_containers=tuple(seen.id for seen in record.containers),
        remove_sandboxes=tuple(sandbox.id for sandbox in record.sandboxes),
        clean_up=True,
    )
