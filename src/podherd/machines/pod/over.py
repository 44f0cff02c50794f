"""A pod that is over: nothing of it runs and nothing will (kubelet behaviour, sections 2.5 and 6.6).

First it is released: volumes and cgroup go. Dead containers, sandboxes and logs stay until its source lets go of it.
"""

from podherd.machines.pod.decision import EMPTY
from podherd.machines.pod.instructions import Instruction, Over, Plan
from podherd.machines.pod.record import Record
from podherd.model.status import TERMINAL


def is_over(record: Record) -> bool:
    """Whether it is to end or has ended by itself, and nothing runs; one that begins anew afterwards is not over."""
    if record.again is not None or (record.ending is None and record.phase not in TERMINAL):
        return False
    return not record.live


def is_finished(record: Record) -> bool:
    """Whether its API object may be deleted: it is over, and holds neither volumes nor a cgroup."""
    return is_over(record) and (record.released or not record.made)


def release(record: Record) -> Plan:
    """The deed for a pod that is over and whose source holds on to it; once is enough."""
    if record.released or not record.made:
        return EMPTY
    return Plan(release=True, why="nothing of it runs")


def tell_over(record: Record, wanted: bool) -> list[Instruction]:
    """Once, that what it had of the node is free.

    Not of a pod that its source let go of: the sources count it no more, and may count the next pod of its uid by now.
    """
    if not wanted or record.over_told or not is_over(record):
        return []
    record.over_told = True
    return [Over(record.uid)]
