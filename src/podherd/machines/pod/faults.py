"""What a fault of the code costs: one event or one pod, for a while; never its neighbours.

A pod whose decision threw is left alone until its retry, then decided about again. An event that threw is heard again,
unless a newer one of its kind came meanwhile or it is no longer true.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from podherd.machines.pod.events import Event, Unreadable, Wanted
from podherd.machines.pod.herd import Herd
from podherd.machines.pod.instructions import Fault, Forget, Instruction, WakeAt
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Record, Running
from podherd.machines.pod.reports import sync_failed
from podherd.wire.desired import Gone

ALARM = ""
"""The uid of the wake-up for all retries; no pod has it."""
Kind: TypeAlias = tuple[str, type]


class Faults:
    """What threw and when it is tried again."""

    def __init__(self, herd: Herd, policy: Policy) -> None:
        self.policy = policy
        self._herd = herd
        self._events: dict[Kind, tuple[float, Event]] = {}
        self._held: dict[str, float] = {}

    @property
    def pending(self) -> bool:
        """Whether anything is to be tried again."""
        return bool(self._events or self._held)

    def holds(self, uid: str) -> bool:
        """Whether no decision about this pod is to be tried yet."""
        return uid in self._held

    def heard(self, event: Event) -> None:
        """An event was taken: an older one of its kind that failed is out of date."""
        self._events.pop((_uid_of(event), type(event)), None)

    def failed(self, event: Event, error: Exception) -> list[Instruction]:
        """An event threw; one that is about no single pod is not tried again."""
        if uid := _uid_of(event):
            self._events[uid, type(event)] = self._retry_at(uid), event
        return [Fault(uid, error), *self._told(uid, event.pod if isinstance(event, Wanted) else event, error)]

    def guard(self, event: Event, deed: Callable[..., object], *args: Any) -> list[Instruction]:
        """Do one pod's part of an event about many; `event` says the same of this pod alone."""
        try:
            deed(*args)
        except Exception as error:
            return self.failed(event, error)
        return []

    def undecided(self, record: Record, before: tuple[Any, Running | None], error: Exception) -> list[Instruction]:
        """The decision about a pod threw. before: what was `published` and `running` when it began.

        What the decision has noted as told and was not is told now, or will be decided anew.
        """
        published, running = before
        out: list[Instruction] = [Fault(record.uid, error), *self._told(record.uid, record, error)]
        if record.published is not None and record.published is not published:
            out.append(record.published)
        if running is not None:
            running.cancelled = False
        record.running, record.wake_at, record.looked_at = running, None, None
        if self._herd.records.get(record.uid) is not record:
            return [*out, Forget(record.uid, record.namespace, record.name)]
        self._held[record.uid] = self._retry_at(record.uid)
        return out

    def due(self) -> list[Event]:
        """Events to be heard again now; pods to be decided about are touched."""
        now = self._herd.now
        for uid in [uid for uid, at in self._held.items() if at <= now]:
            del self._held[uid]
            self._herd.touched[uid] = None
        kinds = [kind for kind, (at, _) in self._events.items() if at <= now]
        events = [self._events.pop(kind)[1] for kind in kinds]
        return [event for event in events if self._is_true(event)]

    def _is_true(self, event: Event) -> bool:
        """Whether the sources still say so."""
        if isinstance(event, Wanted | Unreadable):
            return _uid_of(event) in self._herd.wanted
        return not isinstance(event, Gone) or event.uid not in self._herd.wanted

    def wake(self) -> list[Instruction]:
        """Ask to be woken when the first retry is due."""
        times = [*self._held.values(), *(at for at, _ in self._events.values())]
        return [WakeAt(ALARM, min(times))] if times else []

    def _retry_at(self, uid: str) -> float:
        return self._herd.now + self.policy.retry_after_s(uid)

    def _told(self, uid: str, about: Any, error: Exception) -> list[Instruction]:
        """The event about the pod, where its name is known."""
        named = self._herd.records.get(uid) or about
        if not uid or not hasattr(named, "namespace"):
            return []
        return [sync_failed(named, self._herd.now, f"fault in the agent: {type(error).__name__}: {error}")]


def _uid_of(event: Event) -> str:
    return event.pod.uid if isinstance(event, Wanted) else getattr(event, "uid", "")
