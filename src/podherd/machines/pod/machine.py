"""The pod machine of one shard: events in, instructions out; no clock, no I/O, no randomness, no logging."""

from collections.abc import Callable, Iterator
from typing import Any

from podherd.machines.pod.advance import advance
from podherd.machines.pod.events import (
    Event,
    LeftBehind,
    NodeVolumesChanged,
    ObjectsChanged,
    RepublishDue,
    RuntimeBack,
    Synced,
    Unreadable,
    Wanted,
    Woke,
)
from podherd.machines.pod.faults import ALARM, Faults
from podherd.machines.pod.hear import Hear
from podherd.machines.pod.herd import OVERTAKEN_S, Herd
from podherd.machines.pod.instructions import AllStopped, Instruction, Publish, WakeAt
from podherd.machines.pod.over import is_finished
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Record
from podherd.model.pod import Pod
from podherd.wire.control import Drain
from podherd.wire.desired import Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import RuntimeState
from podherd.wire.observed import Observed, ObservedRoster


class ShardMachine:
    """What every pod worker of a shard decides.

    The shell performs the instructions in order, answers each Sync with one Synced, sends Woke when a WakeAt is due.
    """

    def __init__(self, policy: Policy) -> None:
        self._herd = Herd()
        self._faults = Faults(self._herd, policy)
        self._policy = policy
        self.use(policy)

    def use(self, policy: Policy) -> None:
        """Decide by this policy from now on; what is known of the pods stays, and each is decided about anew."""
        if policy != self._policy:
            self._herd.touch_all()
        self._policy = policy
        self._faults.policy = policy
        hear = Hear(self._herd, policy, self._faults)
        self._hear: dict[type, Callable[[Any], list[Instruction]]] = {
            Wanted: hear.wanted, Unreadable: hear.unreadable, Gone: hear.gone, Roster: hear.roster,
            Observed: hear.observed, ObservedRoster: hear.observed_roster, RuntimeState: hear.runtime_state,
            Synced: hear.synced, Woke: hear.woke, LeftBehind: hear.left_behind, RuntimeBack: hear.runtime_back,
            Drain: hear.drain, Evict: hear.evict, ObjectsChanged: hear.objects_changed,
            NodeVolumesChanged: hear.node_volumes_changed, RepublishDue: hear.republish_due,
        }  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """What a journal keeps of it: all but its methods by event."""
        return {name: value for name, value in vars(self).items() if name != "_hear"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on where the one that was kept stood."""
        vars(self).update(state)
        self.use(self._policy)

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """Take the events in order, then decide once about each pod that they touch. now: epoch seconds.

        Never raises: what throws is a Fault, of one event or one pod.
        """
        out: list[Instruction] = []
        herd, faults = self._herd, self._faults
        was_at, herd.now = herd.now, now
        if now < was_at:
            herd.set_clock_back()
        for event in (*faults.due(), *events) if faults.pending else events:
            out += self._heard(event)
        while herd.touched:
            touched, herd.touched = herd.touched, {}
            for uid in touched:
                if (record := herd.records.get(uid)) is not None and not faults.holds(uid):
                    out += self._decided(record)
        if faults.pending:
            out += faults.wake()
        if herd.draining and not herd.drain_told:
            out += self._drained()
        return out

    def _heard(self, event: Event) -> list[Instruction]:
        try:
            out = self._hear[type(event)](event)
        except Exception as error:
            return self._faults.failed(event, error)
        if self._faults.pending:
            self._faults.heard(event)
        return out

    def _decided(self, record: Record) -> list[Instruction]:
        before = record.published, record.running
        try:
            out = advance(self._herd, self._policy, record, self._herd.now)
            self._after(record)
        except Exception as error:
            return self._faults.undecided(record, before, error)
        return out

    def _after(self, record: Record) -> None:
        """A pod that has stopped lets the next of its full name go on."""
        herd = self._herd
        was_live, record.was_live = record.was_live, record.live
        if herd.records.get(record.uid) is not record:
            return
        if herd.draining and record.was_live and herd.is_ours(record):
            herd.undrained.add(record.uid)
        elif not record.was_live:
            herd.undrained.discard(record.uid)
            if was_live:
                herd.touch_others(record)

    def _drained(self) -> list[Instruction]:
        """AllStopped, once, when it is known what runs and what of it is ours, and nothing of that does any more."""
        herd = self._herd
        if herd.undrained:
            return []
        if not herd.knows_runtime():
            # No record may be left that would ask to be woken.
            return [] if herd.roster_at is None else [WakeAt(ALARM, herd.heard_at + OVERTAKEN_S)]
        # What runs may be wanted by a source that is still unseen; where nothing runs, it does not matter.
        if not herd.sources_seen and any(record.live for record in herd.records.values()):
            return []
        herd.drain_told = True
        return [AllStopped()]

    def published(self) -> Iterator[Publish]:
        """The last status of every pod, for a receiver that knows nothing."""
        return (record.published for record in self._herd.records.values() if record.published is not None)

    def over(self) -> Iterator[str]:
        """The uid of every pod that was told to be over, for a receiver that knows nothing."""
        return (record.uid for record in self._herd.records.values() if record.over_told)

    def active(self) -> Iterator[tuple[str, str, str, int]]:
        """Uid, namespace, name and priority of every pod of which something runs or is mounted."""
        for record in self._herd.records.values():
            if record.pod is not None and not is_finished(record):
                priority = record.pod.body["spec"].get("priority") or 0
                yield record.uid, record.namespace, record.name, priority

    def pod(self, uid: str) -> Pod | None:
        """The spec of a pod as last wanted; None for one that no source wanted."""
        record = self._herd.records.get(uid)
        return None if record is None else record.pod

    def find(self, namespace: str, name: str) -> tuple[Pod, str] | None:
        """The pod of this full name and what made it so; of several one that is not ending, if any."""
        records = [self._herd.records[uid] for uid in self._herd.names.get((namespace, name), ())]
        records.sort(key=lambda record: record.ending is not None)
        return next(((record.pod, _cause(record)) for record in records if record.pod is not None), None)


def _cause(record: Record) -> str:
    return record.ending.cause if record.ending is not None else record.cause
