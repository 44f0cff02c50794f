"""Stopping a pod and clearing it away (kubelet behaviour, sections 2.5, 3.8 and 15)."""

from podherd.machines.pod.decision import Case
from podherd.machines.pod.instructions import KillContainer, Plan
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Record
from podherd.machines.pod.stop_order import kill_all, kill_of
from podherd.model import keys
from podherd.wire.observed import ContainerSeen

ORPHAN_GRACE_S = 1
MIN_POD_GRACE_S = 1
DEFAULT_GRACE_S = 30


def grace_s(record: Record) -> int:
    """The pod's grace: the one of its deletion, else of its spec; of a pod without spec what its containers carry.

    A pod that only the runtime knows gets 1 s, but a static one its own grace: its file went while nobody watched.
    """
    if record.pod is not None:
        deletion = record.pod.body["metadata"].get("deletionGracePeriodSeconds")
        return max(MIN_POD_GRACE_S, record.pod.grace_s if deletion is None else deletion)
    return max(MIN_POD_GRACE_S, _carried_grace_s(record)) if record.static else ORPHAN_GRACE_S


def _carried_grace_s(record: Record) -> int:
    for seen in record.containers:
        for key in (keys.POD_DELETION_GRACE_PERIOD, keys.POD_TERMINATION_GRACE_PERIOD):
            if (text := seen.annotations.get(key, "")).isdecimal():
                return int(text)
    return DEFAULT_GRACE_S


def ready_sandboxes(record: Record) -> tuple[str, ...]:
    """Ids, newest first."""
    return tuple(sandbox.id for sandbox in record.sandboxes if sandbox.ready)


def stop_all(record: Record, policy: Policy, now: float, grace: int, why: str) -> Plan:
    """Stop every container, then the sandboxes. Empty when nothing runs."""
    kill = kill_all(record, policy, now, grace)
    return Plan(kill=kill, stop_sandboxes=ready_sandboxes(record), why=why)


def stop_one(case: Case, seen: ContainerSeen, why: str) -> KillContainer:
    """Stop one container of a pod that lives on."""
    return kill_of(case.record, case.policy, case.now, seen, grace_s(case.record), why)


def end_kill(record: Record, policy: Policy, now: float) -> Plan:
    """`stop_all` with what is left of the ending's grace: a second order gives no second grace (case TERM-1)."""
    ending = record.ending
    if ending is None:
        return Plan()
    left_s = ending.grace_s if ending.until is None else min(ending.grace_s, max(0, int(ending.until - now)))
    return stop_all(record, policy, now, left_s, ending.cause)


def remove_all(record: Record) -> Plan:
    """The last deed for a pod: its dead containers and sandboxes, directories and logs."""
    return Plan(
        remove_containers=tuple(seen.id for seen in record.containers),
        remove_sandboxes=tuple(sandbox.id for sandbox in record.sandboxes),
        clean_up=True,
        why="nothing of it runs",
    )
