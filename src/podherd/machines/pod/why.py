"""Why a plan is made, in a few words for people; no decision reads them."""

from collections.abc import Sequence

from podherd.machines.pod.instructions import KillContainer, StartContainer
from podherd.machines.pod.record import EXITED, Record


def why_in_sandbox(record: Record, kill: Sequence[KillContainer], start: Sequence[StartContainer]) -> str:
    """Of a plan that changes what runs in the sandbox: the first of its causes."""
    if kill:
        return kill[0].message
    if not start:
        return "dead containers are of no more use"
    seen = record.newest.get(start[0].name)
    if seen is None:
        return f"container {start[0].name} has not run yet"
    if seen.state != EXITED:
        return f"container {seen.name} was not started"
    return f"container {seen.name} ended with exit code {seen.exit_code}"
