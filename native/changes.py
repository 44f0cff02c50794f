"""What a relist reports, shared by the compiled table and its fallback: changes, state names, refusals."""

from typing import NamedTuple

from podherd.errors import TruncatedError

SANDBOX = "sandbox"
CONTAINER = "container"
ABSENT = ""
"""The state of what is not there: the old state of a new entry, the new state of a removed one."""

SANDBOX_STATES = ("ready", "notready")
"""By the value of CRI PodSandboxState; a value that CRI v1 does not know counts as the last one."""
CONTAINER_STATES = ("created", "running", "exited", "unknown")
"""By the value of CRI ContainerState; a value that CRI v1 does not know counts as the last one."""

SANDBOX_REPLY = "ListPodSandbox reply"
CONTAINER_REPLY = "ListContainers reply"

MAX_GROUP_DEPTH = 100
"""Groups (unknown fields of an old encoding) nested deeper than this are refused."""

WHY = (
    "the bytes end in the middle of a value",
    "a number is longer than 64 bits",
    "a field number is out of range",
    "a wire type does not exist",
    "a group ends that was not begun",
    f"groups are nested deeper than {MAX_GROUP_DEPTH}",
)
"""Reasons of a refusal, by the number that the readers give them."""


class Change(NamedTuple):
    """One sandbox or container that is not as the table held it.

    kind: SANDBOX or CONTAINER. namespace, name: the pod's. An entry that moved to another pod gives two changes: gone
    from the one, new in the other. Both states are equal when a container only moved to another sandbox of its pod.
    """

    kind: str
    id: str
    pod_uid: str
    namespace: str
    name: str
    old_state: str
    new_state: str


def refusal(reply: str, size: int, at: int, why: int) -> TruncatedError:
    """The error for `reply` of `size` bytes whose field at byte `at` cannot be read; `why` indexes WHY."""
    return TruncatedError(reply, f"{WHY[why]} (field at byte {at} of {size})", "the runtime is asked again")
