"""What `plan` is asked, and what it answers."""

from dataclasses import dataclass, field

from podherd.machines.backoff import BackOff
from podherd.machines.pod.instructions import Plan
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Failure, Record
from podherd.model.pod import Pod
from podherd.wire.status import PodEvent

EMPTY = Plan()


@dataclass(frozen=True, slots=True)
class Case:
    """A pod of which the view is fresh and nothing is in flight.

    network_trouble: why no pod network can be had; empty when it can.
    """

    record: Record
    pod: Pod
    policy: Policy
    network_trouble: str
    now: float


@dataclass(slots=True)
class Decision:
    """A plan, and what follows from having made it: `advance` alone writes these into the record.

    waits: times at which something that waits now is due. crashes: raised back-offs of containers that start.
    failures: why containers wait. events: to record. network_told: one of them says that the network is missing.
    restart_all: the plan begins to restart every container of the pod.
    """

    plan: Plan = EMPTY
    waits: list[float] = field(default_factory=list)
    crashes: dict[str, BackOff] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    events: list[PodEvent] = field(default_factory=list)
    network_told: bool = False
    restart_all: bool = False

    def tell(self, case: Case, reason: str, message: str, field_path: str = "", kind: str = "Warning") -> None:
        """Add an event about the case's pod. kind: `Normal` or `Warning`."""
        record = case.record
        event = PodEvent(record.uid, record.namespace, record.name, field_path, case.now, kind, reason, message)
        self.events.append(event)
