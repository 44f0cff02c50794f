"""The last events of each pod: repeats counted, as `kubectl describe` shows them; bounded per pod and in all."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from podherd.wire.status import PodEvent

PER_POD = 50
PODS = 10_000


@dataclass(slots=True)
class Counted:
    """An event with how often it came; times in seconds since the epoch."""

    event: PodEvent
    count: int
    first_at: float
    last_at: float


class EventRing:
    """Events by pod uid. The pod that was longest without an event is dropped first, then that pod's oldest event."""

    def __init__(self, per_pod: int = PER_POD, pods: int = PODS) -> None:
        self._per_pod = per_pod
        self._limit = pods
        self._pods: OrderedDict[str, OrderedDict[tuple[str, ...], Counted]] = OrderedDict()

    def add(self, event: PodEvent) -> Counted:
        """Record an event; one equal but for its time raises the count of the first."""
        ring = self._pods.setdefault(event.uid, OrderedDict())
        self._pods.move_to_end(event.uid)
        key = (event.field_path, event.type, event.reason, event.message)
        if (known := ring.get(key)) is None:
            known = ring[key] = Counted(event, 0, event.at, event.at)
        known.count += 1
        known.last_at = max(known.last_at, event.at)
        ring.move_to_end(key)
        if len(ring) > self._per_pod:
            ring.popitem(last=False)
        if len(self._pods) > self._limit:
            self._pods.popitem(last=False)
        return known

    def of(self, namespace: str = "", name: str = "", uid: str = "") -> list[Counted]:
        """Events by last time, oldest first, of the pods that match every word given."""
        rings = [self._pods[key] for key in ((uid,) if uid else self._pods) if key in self._pods]
        found = [
            counted
            for ring in rings
            for counted in ring.values()
            if namespace in ("", counted.event.namespace) and name in ("", counted.event.name)
        ]
        return sorted(found, key=lambda counted: counted.last_at)


def as_json(counted: Counted) -> dict[str, Any]:
    """An event as the admin API lists it."""
    event = counted.event
    return {
        "uid": event.uid,
        "namespace": event.namespace,
        "name": event.name,
        "fieldPath": event.field_path,
        "type": event.type,
        "reason": event.reason,
        "message": event.message,
        "count": counted.count,
        "firstAt": counted.first_at,
        "lastAt": counted.last_at,
    }
