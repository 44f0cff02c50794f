"""One line of a story."""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a line tells of."""

    SOURCE = "source"
    AGENT = "agent"
    NODE = "node"
    PLAN = "plan"
    CRI = "cri"
    FAILED = "failed"
    EVENT = "event"
    SEEN = "seen"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class Line:
    """at: epoch seconds of the agent's clock. actor: whose journal tells it. uid: the pod's, empty for none."""

    at: float
    kind: Kind
    text: str
    actor: str
    uid: str = ""
