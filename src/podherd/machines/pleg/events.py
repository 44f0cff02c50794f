"""What the PLEG machine hears. Wire messages Reinspect and Hello come as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from podherd.native.changes import Change
from podherd.wire.control import Hello
from podherd.wire.observed import Observed, Reinspect


@dataclass(frozen=True, slots=True)
class Woke:
    """The time of a WakeAt has come, or the actor has started."""


@dataclass(frozen=True, slots=True)
class Relisted:
    """Both lists came and were compared with the last ones; `at` was taken before the first of them."""

    at: float
    changes: Sequence[Change]
    sandboxes: int
    containers: int


@dataclass(frozen=True, slots=True)
class RelistFailed:
    """A list call failed, or its reply cannot be read."""

    reason: str


@dataclass(frozen=True, slots=True)
class Located:
    """The answer to Locate: state by id of what the runtime holds of one pod."""

    uid: str
    at: float
    states: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Inspected:
    """The answer to Inspect."""

    observed: Observed


@dataclass(frozen=True, slots=True)
class LookFailed:
    """No answer to Locate or Inspect: an error of the runtime, or none within the deadline."""

    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """A CRI event says that this container or sandbox of the pod stopped. A hint: late, doubled or lost."""

    uid: str
    id: str


Event = Woke | Relisted | RelistFailed | Located | Inspected | LookFailed | Stopped | Reinspect | Hello
