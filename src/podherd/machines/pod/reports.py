"""What the machine tells the world about a pod: its status when it changed, and events."""

from typing import TypeAlias

from podherd.machines.pod.events import Unreadable
from podherd.machines.pod.instructions import Instruction, Publish
from podherd.machines.pod.instructions import Record as RecordEvent
from podherd.machines.pod.over import is_finished, is_over
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Record
from podherd.machines.pod.status import pod_status
from podherd.model.pod import ContainerKind, Pod
from podherd.model.status import PENDING
from podherd.wire.desired import Gone
from podherd.wire.observed import Observed
from podherd.wire.status import PodEvent

UNREADABLE = "Unreadable"
Named: TypeAlias = Record | Pod | Unreadable | Gone | Observed
"""Whatever says by uid, namespace and name which pod it is about."""


def pod_event(record: Named, now: float, kind: str, reason: str, message: str) -> RecordEvent:
    """A Kubernetes event about the pod as a whole. kind: `Normal` or `Warning`."""
    return RecordEvent(PodEvent(record.uid, record.namespace, record.name, "", now, kind, reason, message))


def sync_failed(record: Named, now: float, message: str) -> RecordEvent:
    """The kubelet's event for a pod that could not be dealt with."""
    return pod_event(record, now, "Warning", "FailedSync", message)


def publish(record: Record, pod: Pod, policy: Policy, ended: bool, now: float) -> list[Instruction]:
    """The pod's status, if it differs from the last one."""
    sidecars = tuple(it.name for it in pod.init_containers if it.kind is ContainerKind.SIDECAR)
    return _publish(record, pod.source, pod_status(record, pod, policy, ended, now), sidecars)


def publish_unreadable(record: Record) -> list[Instruction]:
    """The status of a pod whose manifest cannot be read."""
    return _publish(record, "", {"phase": PENDING, "reason": UNREADABLE, "message": record.problem})


def _publish(
    record: Record, source: str, status: dict[str, object], sidecars: tuple[str, ...] = ()
) -> list[Instruction]:
    last = record.published
    deleting = record.ending is not None and record.ending.deleted
    stands = deleting, is_finished(record), is_over(record)
    if last is not None and (last.deleting, last.finished, last.stopped) == stands and last.status == status:
        return []
    record.published = Publish(
        record.uid, record.namespace, record.name, source, deleting, record.first_seen, status, sidecars, *stands[1:]
    )
    return [record.published]
