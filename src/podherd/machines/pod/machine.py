"""The pod machine of one shard: events in, instructions out; no clock, no I/O, no randomness, no logging."""

from collections.abc import Callable, Iterator
from typing import Any

from podherd.machines.pod.advance import advance
from podherd.machines.pod.events import Event, RuntimeBack, Synced, Unreadable, Wanted, Woke
from podherd.machines.pod.hear import Hear
from podherd.machines.pod.herd import Herd
from podherd.machines.pod.instructions import AllStopped, Instruction, Publish
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import Record
from podherd.model.pod import Pod
from podherd.wire.control import Drain
from podherd.wire.desired import Gone, Roster
from podherd.wire.node import RuntimeState
from podherd.wire.observed import Observed, ObservedRoster


class ShardMachine:
    """What every pod worker of a shard decides.

    The shell performs the instructions in order, answers each Sync with one Synced, sends Woke when a WakeAt is due.
    """

    def __init__(self, policy: Policy) -> None:
        self._herd = Herd()
        self.use(policy)

    def use(self, policy: Policy) -> None:
        """Decide by this policy from now on; what is known of the pods stays."""
        self._policy = policy
        hear = Hear(self._herd, policy)
        self._hear: dict[type, Callable[[Any], list[Instruction]]] = {
            Wanted: hear.wanted, Unreadable: hear.unreadable, Gone: hear.gone, Roster: hear.roster,
            Observed: hear.observed, ObservedRoster: hear.observed_roster, RuntimeState: hear.runtime_state,
            Synced: hear.synced, Woke: hear.woke, RuntimeBack: hear.runtime_back, Drain: hear.drain,
        }  # fmt: skip

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """Take the events in order, then decide once about each pod that they touch. now: epoch seconds."""
        out: list[Instruction] = []
        herd = self._herd
        herd.now = now
        for event in events:
            out += self._hear[type(event)](event)
        while herd.touched:
            touched, herd.touched = herd.touched, {}
            for uid in touched:
                if (record := herd.records.get(uid)) is not None:
                    out += advance(herd, self._policy, record, now)
                    self._after(record)
        if herd.undrained is not None:
            out += self._drained()
        return out

    def _after(self, record: Record) -> None:
        """A pod that has stopped lets the next of its full name go on."""
        was_live, record.was_live = record.was_live, record.live
        if record.was_live or record.uid not in self._herd.records:
            return
        if was_live:
            self._herd.touch_others(record)
        if self._herd.undrained is not None:
            self._herd.undrained.discard(record.uid)

    def _drained(self) -> list[Instruction]:
        """AllStopped, once, when the last pod of the drain has stopped."""
        herd = self._herd
        if herd.undrained or herd.drained is None:
            return []
        pods, herd.drained = tuple(herd.drained), None
        return [AllStopped(pods)]

    def published(self) -> Iterator[Publish]:
        """The last status of every pod, for a receiver that knows nothing."""
        return (record.published for record in self._herd.records.values() if record.published is not None)

    def pod(self, uid: str) -> Pod | None:
        """The spec of a pod as last wanted; None for one that no source wanted."""
        record = self._herd.records.get(uid)
        return None if record is None else record.pod

    def find(self, namespace: str, name: str) -> Pod | None:
        """The pod of this full name; of several the one that runs or will run, not one that is ending."""
        records = [self._herd.records[uid] for uid in self._herd.names.get((namespace, name), ())]
        records.sort(key=lambda record: record.ending is not None)
        return next((record.pod for record in records if record.pod is not None), None)
