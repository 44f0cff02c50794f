"""All pods of one shard by uid and by full name, and what is known beyond single pods."""

from itertools import islice

from podherd.machines.pod.record import Record
from podherd.wire.node import RuntimeState
from podherd.wire.observed import Observed

OVERTAKEN_S = 3.0
"""How long views that a newer one replaced on the way are waited for; they come with the next frame or not at all."""
BURIED_S = 600.0
"""How long a forgotten pod is remembered: no observation is this late."""


class Herd:
    """The state of the pod machine. now: the time that the shell gave with the events in hand.

    wanted: uids that the sources want, bodies yet to come included. sources_seen: whether `wanted` is all.
    roster_at: the time of which it is known what the runtime holds; None before the PLEG's first word.
    unseen: uids that the runtime held then and of which no view has come yet, since a newer one replaced it on the way;
    heard_at: since when these are waited for.
    draining: everything is to stop. undrained: uids of ours that may still run. drain_told: the shell knows the end.
    touched: uids to decide about before `handle` returns.
    buried: uids of forgotten pods and when: a late observation must not bring them back.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self.records: dict[str, Record] = {}
        self.names: dict[tuple[str, str], list[str]] = {}
        self.wanted: set[str] = set()
        self.sources_seen = False
        self.roster_at: float | None = None
        self.unseen: set[str] = set()
        self.heard_at = 0.0
        self.runtime: RuntimeState | None = None
        self.draining = False
        self.undrained: set[str] = set()
        self.drain_told = False
        self.touched: dict[str, None] = {}
        self.buried: dict[str, float] = {}
        self.last_plan_id = 0

    def open(self, uid: str, namespace: str, name: str, known_at: float | None) -> Record:
        """The pod's record, made when there is none. known_at: since when a new one is known to be absent, or None."""
        if (record := self.records.get(uid)) is None:
            if known_at is not None:
                known_at = max(known_at, self.buried.pop(uid, known_at))
            record = self.records[uid] = Record(uid, namespace, name, self.now, known_at)
            self.names.setdefault((namespace, name), []).append(uid)
        self.touched[uid] = None
        return record

    def close(self, record: Record, at: float) -> None:
        """Drop a pod of which nothing is left, and let the next of its full name go on."""
        del self.records[record.uid]
        self.undrained.discard(record.uid)
        self._bury(record.uid, at)
        self.touch_others(record)
        uids = self.names[record.namespace, record.name]
        uids.remove(record.uid)
        if not uids:
            del self.names[record.namespace, record.name]

    def _bury(self, uid: str, at: float) -> None:
        self.buried.pop(uid, None)
        self.buried[uid] = at
        for oldest in tuple(islice(self.buried, 2)):
            if self.buried[oldest] < self.now - BURIED_S:
                del self.buried[oldest]

    def is_ours(self, record: Record) -> bool:
        """Whether a drain is about it: what the sources want, also one that cannot be read, and what is ending."""
        return record.pod is not None or record.ending is not None or record.uid in self.wanted

    def set_clock_back(self) -> None:
        """The clock reads less than before: what is known must not make news of this age count as late."""
        now = self.now
        self.touch_all()
        for record in self.records.values():
            record.set_clock_back(now)
        self.buried = {uid: min(at, now) for uid, at in self.buried.items()}
        self.heard_at = min(self.heard_at, now)
        if self.roster_at is not None:
            self.roster_at = min(self.roster_at, now)

    def knows_runtime(self) -> bool:
        """Whether every pod that the runtime holds is known by name: until then none may start beside it."""
        return self.roster_at is not None and (not self.unseen or self.now >= self.heard_at + OVERTAKEN_S)

    def absent_since(self, uid: str) -> float | None:
        """The time of which it is known that the runtime holds nothing of a pod without a record; None: not known."""
        return None if uid in self.unseen else self.roster_at

    def touch_others(self, record: Record) -> None:
        """Decide about the pods that wait for this one's full name."""
        for uid in self.names[record.namespace, record.name]:
            if uid != record.uid:
                self.touched[uid] = None

    def touch_all(self) -> None:
        """Decide about every pod: something that concerns all has changed."""
        self.touched.update(dict.fromkeys(self.records))

    def is_buried(self, seen: Observed) -> bool:
        """Whether this observation is older than the end of the pod that it speaks of."""
        buried_at = self.buried.get(seen.uid)
        if buried_at is None:
            return False
        if seen.at <= buried_at:
            return True
        if seen.sandboxes or seen.containers:
            del self.buried[seen.uid]
        else:
            # A view from before the end may still come once more; one of later than now is from before a clock's step.
            self._bury(seen.uid, min(seen.at, self.now))
        return False

    def namesakes(self, record: Record) -> list[Record]:
        """The other pods of the same full name, oldest arrival first."""
        uids = self.names[record.namespace, record.name]
        return [] if len(uids) == 1 else [self.records[uid] for uid in uids if uid != record.uid]

    def is_orphan(self, record: Record) -> bool:
        """In the runtime, in no source, all sources seen (kubelet behaviour, section 15)."""
        return self.sources_seen and record.pod is None and record.uid not in self.wanted

    def runtime_ready(self) -> bool:
        """Nothing is done while the runtime has not said that it is ready (kubelet behaviour, section 2.1)."""
        return self.runtime is not None and self.runtime.runtime_ready

    def network_trouble(self) -> str:
        """Why no pod network can be had; empty when it can."""
        if self.runtime is None or self.runtime.network_ready:
            return ""
        return self.runtime.message or "the runtime's network is not ready"
