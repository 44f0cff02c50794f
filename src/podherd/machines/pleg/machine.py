"""The PLEG machine: lists tell which pods changed, inspections tell how, each pod in a lane of its own.

Every view has the time of the list that it was made from, for only a list knows all of a pod (section 4: the cache's
timestamp is taken before listing). A pod whose list shows what was told already needs no inspection.
"""

from collections.abc import Iterable

from podherd.machines.pleg import events as heard
from podherd.machines.pleg.instructions import Inspect, Instruction, Locate, Relist, Tell, TellHealth, WakeAt
from podherd.machines.pleg.lane import Lane
from podherd.machines.pleg.looks import Looks
from podherd.machines.pleg.relists import Relists
from podherd.machines.pleg.rosters import Rosters
from podherd.machines.pleg.rules import Rules
from podherd.machines.times import NEVER_AT
from podherd.model.keys import shard_of
from podherd.wire.control import Hello
from podherd.wire.node import PlegHealth
from podherd.wire.observed import Observed, Reinspect

SLOW = "the runtime has not answered yet"
HINT_SLACK_S = 1e-6
"""A hint is of something past: a list that begins at the very time of the hint shows it."""
OVER = ("exited", "notready")


class PlegMachine:
    """`handle` alone changes it. Give it Woke once at the start.

    unlisted: lanes that wait for a newer list. unsure: lanes to compare with the next relist in any case. retries:
    lanes whose look failed. greeted: when shards said hello that wait for a list that began after it.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._lanes: dict[str, Lane] = {}
        self._unlisted: dict[str, Lane] = {}
        self._unsure: dict[str, Lane] = {}
        self._retries: dict[str, Lane] = {}
        self._looks = Looks(rules)
        self._relists = Relists(rules)
        self._rosters = Rosters()
        self._greeted: dict[int, float] = {}
        self._counts = (0, 0)
        self._stale: set[str] = set()
        self._health_told: tuple[float, tuple[str, ...]] = (NEVER_AT, ())
        self._wake_at: float | None = None
        self._heard_at = NEVER_AT
        self._out: list[Instruction] = []

    def handle(self, now: float, *events: heard.Event) -> list[Instruction]:
        """Take events in order; what is to be done, in order."""
        self._out = []
        if now < self._heard_at:
            self._clock_set_back(now)
        self._heard_at = now
        for event in events:
            self._hear(event, now)
        self._list_for_waiting(now)
        for lane in self._looks.turns(now):
            self._inspect(lane, now)
        self._excuse_slow(now)
        self._out += self._rosters.due()
        if self._relists.begin(now):
            self._out.append(Relist(now))
        self._set_alarm(now)
        return self._out

    def _hear(self, event: heard.Event, now: float) -> None:
        match event:
            case heard.Relisted():
                self._relisted(event, now)
            case heard.RelistFailed():
                self._relists.end(now, None)
                self._tell_health(now)
            case heard.Located():
                self._located(event, now)
            case heard.Inspected():
                self._inspected(event.observed, now)
            case heard.LookFailed():
                self._look_failed(event, now)
            case Reinspect():
                self._demanded(event, now)
            case heard.Stopped():
                self._stopped(event, now)
            case Hello():
                self._hello(event, now)
            case heard.Woke():
                self._woke(now)

    # Lists

    def _relisted(self, event: heard.Relisted, now: float) -> None:
        first = self._relists.done_at == NEVER_AT
        touched = {**self._unlisted, **self._unsure}
        self._relists.end(now, min(event.at, now))
        self._counts = (event.sandboxes, event.containers)
        self._unsure = {}
        for change in event.changes:
            lane = self._lane(change.pod_uid, change.namespace, change.name)
            lane.apply(change)
            touched[lane.uid] = lane
        self._owe_new(first)
        for lane in touched.values():
            if lane.located_at < self._relists.done_at:
                lane.located = None
            self._advance(lane, now)
        self._tell_health(now)

    def _clock_set_back(self, now: float) -> None:
        """No time that was noted means anything now: a relist is due, and every pod is looked at anew."""
        self._relists.clock_set_back(now)
        self._wake_at = None
        for lane in self._lanes.values():
            lane.seen, lane.wanted_after, lane.located_at, lane.retry_at = None, None, NEVER_AT, NEVER_AT
            self._looks.drop(lane)
        self._unsure = dict(self._lanes)
        self._greeted = dict.fromkeys(self._greeted, now - HINT_SLACK_S)

    def _located(self, event: heard.Located, now: float) -> None:
        if (lane := self._looks.end(event.uid)) is not None:
            lane.located, lane.located_at = event.states, min(event.at, now)
            self._advance(lane, now)

    def _advance(self, lane: Lane, now: float) -> None:
        """Decide what a lane needs next. Called whenever a list of it came, a look ended, or somebody wants a view."""
        if lane.looking_since is not None:
            return
        at, states = lane.listed(self._relists.done_at)
        if at == NEVER_AT:
            self._unsure[lane.uid] = lane  # the next relist tells what is there
            return
        if lane.wanted_after is not None and at <= lane.wanted_after:
            self._unlisted[lane.uid] = lane
            return
        self._unlisted.pop(lane.uid, None)
        if lane.seen is not None and lane.seen.at > at:
            self._unsure[lane.uid] = lane  # the view is newer than the list
        elif not lane.differs(states):
            if lane.wanted_after is not None:
                self._tell(lane, lane.view(at))
        elif not states:
            self._tell(lane, Observed(lane.uid, lane.namespace, lane.name, at, (), ()))
        else:
            self._queue(lane, now)
        if lane.located is not None:
            self._unsure[lane.uid] = lane  # no relist has shown it yet
        elif lane.is_over():
            self._drop(lane)

    def _queue(self, lane: Lane, now: float) -> None:
        if lane.retry_at > now:
            self._retries[lane.uid] = lane
        else:
            self._looks.put(lane)

    def _list_for_waiting(self, now: float) -> None:
        """A few that wait get a list each; many, or a rush of them, get one early relist for all."""
        if not self._unlisted or self._relists.done_at == NEVER_AT:
            return
        if self._relists.is_rush(now) or len(self._unlisted) > self._rules.few:
            self._relists.hurry()
            return
        under_way = self._relists.under_way
        for lane in list(self._unlisted.values()):
            served = under_way is not None and lane.wanted_after is not None and under_way > lane.wanted_after
            if not served and lane.looking_since is None and lane.retry_at <= now:
                self._looks.begin(lane, now)
                self._out.append(Locate(lane.uid, now))

    # Inspections

    def _inspect(self, lane: Lane, now: float) -> None:
        at, states = lane.listed(self._relists.done_at)
        self._looks.begin(lane, now)
        self._retries.pop(lane.uid, None)
        self._out.append(Inspect(lane.uid, lane.namespace, lane.name, at, dict(states)))

    def _inspected(self, observed: Observed, now: float) -> None:
        lane = self._looks.end(observed.uid)
        if lane is None:
            return
        if observed.at > now:
            self._unsure[lane.uid] = lane  # begun before the clock was set back: nobody knows how old it is
            return
        self._tell(lane, observed)
        if lane.differs(lane.listed(self._relists.done_at)[1]):
            self._unsure[lane.uid] = lane  # it moved on since the list; the next relist shows it too
        if lane.wanted_after is not None or lane.listed(self._relists.done_at)[0] > observed.at:
            self._advance(lane, now)

    def _look_failed(self, event: heard.LookFailed, now: float) -> None:
        lane = self._lanes.get(event.uid)
        if lane is None or lane.looking_since is None:
            return
        self._looks.end(event.uid)
        lane.failures += 1
        lane.retry_at = now + self._rules.retry_after_s(lane.failures)
        self._retries[lane.uid] = lane
        self._tell_stale(lane, event.reason)
        self._tell_health(now)

    def _tell(self, lane: Lane, observed: Observed) -> None:
        self._out.append(Tell(lane.take(observed)))
        self._rosters.told(lane.uid)
        self._retries.pop(lane.uid, None)
        self._stale.discard(lane.uid)

    def _tell_stale(self, lane: Lane, reason: str) -> None:
        lane.stale, lane.told = reason, True
        at, _ = lane.listed(self._relists.done_at)
        self._out.append(Tell(lane.view(at, reason)))
        self._rosters.told(lane.uid)
        self._stale.add(lane.uid)

    def _excuse_slow(self, now: float) -> None:
        """A roster does not wait for a pod whose look hangs: it is told as stale for now."""
        for lane in self._looks.slow(now):
            if not lane.told:
                self._tell_stale(lane, SLOW)

    # Demands and hints

    def _demanded(self, event: Reinspect, now: float) -> None:
        lane = self._lane(event.uid, event.namespace, event.name)
        if lane.seen is not None and not lane.stale and lane.seen.at > event.after:
            self._out.append(Tell(lane.seen))
        else:
            self._want(lane, min(event.after, now), now)  # a later one is of a clock that was set back meanwhile

    def _stopped(self, event: heard.Stopped, now: float) -> None:
        lane = self._lanes.get(event.uid)
        if lane is not None and lane.listed(self._relists.done_at)[1].get(event.id) not in OVER:
            self._want(lane, now - HINT_SLACK_S, now)

    def _want(self, lane: Lane, after: float, now: float) -> None:
        lane.wanted_after = max(after, lane.wanted_after) if lane.wanted_after is not None else after
        self._relists.demanded(now)
        self._advance(lane, now)

    def _hello(self, event: Hello, now: float) -> None:
        """A shard has begun anew: only a list from now on shows what its earlier life did last."""
        shard = int(event.actor.rpartition("-")[2])
        after = self._greeted[shard] = now - HINT_SLACK_S
        self._relists.hurry()
        for lane in self._of(shard):
            lane.told = False
            lane.wanted_after = after if lane.wanted_after is None else max(after, lane.wanted_after)
            self._unsure[lane.uid] = lane

    def _owe_new(self, first: bool) -> None:
        """Rosters for those who have asked before the list began; after the first list for all others too."""
        done_at = self._relists.done_at
        asked = [shard for shard, at in self._greeted.items() if at < done_at]
        self._owe_rosters(asked)
        for shard in asked:
            del self._greeted[shard]
        if first:
            self._owe_rosters(shard for shard in range(self._rules.shards) if shard not in {*asked, *self._greeted})

    def _owe_rosters(self, shards: Iterable[int]) -> None:
        for shard in shards:
            held = [lane for lane in self._of(shard) if lane.table]
            untold = (lane.uid for lane in held if not lane.told)
            self._rosters.owe(shard, self._relists.done_at, (lane.uid for lane in held), untold)

    # Times and lanes

    def _woke(self, now: float) -> None:
        self._wake_at = None
        for lane in [lane for lane in self._retries.values() if lane.retry_at <= now]:
            del self._retries[lane.uid]
            self._advance(lane, now)

    def _set_alarm(self, now: float) -> None:
        times = [lane.retry_at for lane in self._retries.values()]
        if self._relists.under_way is None:
            times.append(self._relists.next_at)
        if (slow_at := self._looks.slow_at(now)) is not None:
            times.append(slow_at)
        due = max(now, min(times)) if times else None
        if due is not None and due != self._wake_at:
            self._wake_at = due
            self._out.append(WakeAt(due))

    def _tell_health(self, now: float) -> None:
        """On a change of the stale pods at once, else every few seconds."""
        stale = tuple(sorted(self._stale))
        told_at, told = self._health_told
        if self._relists.done_at == NEVER_AT or (stale == told and now < told_at + self._rules.health_s):
            return
        self._health_told = (now, stale)
        self._out.append(
            TellHealth(PlegHealth(self._relists.done_at, self._relists.took_s, *self._counts, stale_pods=stale))
        )

    def _lane(self, uid: str, namespace: str, name: str) -> Lane:
        if (lane := self._lanes.get(uid)) is None:
            lane = self._lanes[uid] = Lane(uid, namespace, name)
        return lane

    def _drop(self, lane: Lane) -> None:
        for place in (self._lanes, self._unlisted, self._unsure, self._retries):
            place.pop(lane.uid, None)
        self._looks.drop(lane)

    def _of(self, shard: int) -> list[Lane]:
        shards = self._rules.shards
        return [lane for lane in self._lanes.values() if shard_of(lane.namespace, lane.name, shards) == shard]
