"""One line of a story."""

from dataclasses import dataclass
from enum import StrEnum

from podherd.errors import WireError
from podherd.journal.entries import MOST_S


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
    API = "api"


@dataclass(frozen=True, slots=True)
class Line:
    """at: epoch seconds of the agent's clock. actor: whose journal tells it. uid: the pod's, empty for none."""

    at: float
    kind: Kind
    text: str
    actor: str
    uid: str = ""

    def __post_init__(self) -> None:
        """Raises WireError for a time that no clock showed."""
        if not abs(self.at) < MOST_S:
            raise WireError("journal", f"holds a time that is none: {self.at}")
