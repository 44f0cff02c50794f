"""The sources machine: origins in, differences out (kubelet behaviour, section 1.5; cases SRC-1 and SRC-3).

Only real changes leave it: a pod whose UID and content are as before is not told again. An edited static pod is a new
UID under its old name: its predecessor is taken away at once, also while other sources are still unknown. Any other
removal waits until every configured source was seen. With an `admission`, each pod leaves with the node's word on it,
and none before the node is known.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from podherd.machines.admission import ADMITTED, Admission, Ask
from podherd.machines.sources.api_pods import ApiPods
from podherd.machines.sources.claims import Choice, Name
from podherd.machines.sources.events import (
    ApiDropped,
    ApiListed,
    ApiPut,
    Event,
    NodeLooked,
    Noted,
    OriginBad,
    OriginGone,
    OriginRead,
    ServerStarted,
    ShardStarted,
    SourceListed,
    Started,
    StaticPod,
    StatusStarted,
)
from podherd.machines.sources.everything import rosters, whole
from podherd.machines.sources.gate import Caller, Outcome, caller, outcome_of, rank_of, turn_of
from podherd.machines.sources.instructions import (
    Instruction,
    LookAtNode,
    Preempt,
    Remove,
    TellStatus,
    Upsert,
    Warn,
)
from podherd.machines.sources.intake import Causes, Intake
from podherd.machines.sources.problems import Problems
from podherd.machines.sources.seen import with_seen_of
from podherd.model.keys import SOURCE_API, shard_of
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import NodeFacts
from podherd.wire.status import PodOver

_MANIFEST = "manifest"
PREEMPTING = "Preempting"
PREEMPTED = "Preempted in order to admit critical pod"
DISRUPTED = "Pod was preempted by Kubelet to accommodate a critical pod."


class SourcesMachine:
    """One per node. shards: how many pod shards there are; configured: the sources that must be seen.

    admission: None lets every pod run.
    """

    def __init__(self, shards: int, configured: Iterable[str], admission: Admission | None = None) -> None:
        self._shards = shards
        self._unseen = set(configured)
        self._serves_api = SOURCE_API in self._unseen
        self._admission = admission
        self._api = ApiPods()
        self._problems = Problems()
        self._intake = Intake(self._api, self._problems)
        self._published: dict[Name, tuple[Desired, str]] = {}
        self._leaving: dict[Name, Gone] = {}
        self._held: dict[Name, str] = {}
        self._waiting: dict[Name, tuple[str, str]] = {}
        self._evicting: dict[str, Evict] = {}
        self._looking = False
        self._roster_due = False
        self._pending: set[Name] = set()

    @property
    def complete(self) -> bool:
        """Every configured source was seen, and the node is known."""
        return not self._unseen and self._open

    @property
    def _open(self) -> bool:
        return self._admission is None or self._admission.ready

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """What to send because of these events."""
        done: list[Instruction] = []
        for event in events:
            done += self._handle(event)
            done += self._resize()
        done += [Warn(problem) for problem in self._problems.news(now)]
        return done

    def _handle(self, event: Event) -> list[Instruction]:
        match event:
            case OriginRead(source, origin, pods, warnings):
                self._problems.note(origin, _MANIFEST, "; ".join(warnings))
                verb = "changed" if self._intake.holds(source, origin) else "created"
                return self._replace(source, origin, pods, verb)
            case OriginBad(source, origin, problem, keep):
                self._problems.note(origin, _MANIFEST, problem)
                return [] if keep else self._replace(source, origin, (), "cannot be used")
            case OriginGone(source, origin):
                self._problems.clear(origin)
                return self._replace(source, origin, (), "removed")
            case SourceListed(source):
                return self._listed(source)
            case Noted(thing, problem):
                self._problems.note(thing, "source", problem)
                return []
            case Started():
                return self._rosters() if not self._unseen else []
            case ShardStarted(shard):
                return self._whole(shard)
            case ServerStarted():
                return [Warn(problem) for problem in self._problems.all()]
            case _:
                return self._handle_cluster(event)

    def _handle_cluster(self, event: Event) -> list[Instruction]:
        match event:
            case ApiListed(items, uids):
                return self._api_heard(self._intake.take_list(items, uids)) + self._listed(SOURCE_API)
            case ApiPut(item):
                return self._api_heard(self._intake.put(item))
            case ApiDropped(uid):
                return self._api_heard(self._intake.drop(uid))
            case StatusStarted():
                return self._whole_status()
            case NodeFacts():
                return self._use(event)
            case NodeLooked(labels):
                return self._looked(labels)
            case PodOver(uid):
                return self._over(uid)
        return []

    def _replace(self, source: str, origin: str, pods: tuple[StaticPod, ...], verb: str) -> list[Instruction]:
        """The origin holds these pods now; what follows for them and for whoever they clash with."""
        return self._publish(self._intake.claim(source, origin, pods, verb))

    def _api_heard(self, heard: tuple[list[Instruction], Causes]) -> list[Instruction]:
        told, causes = heard
        return told + self._publish(causes)

    # Claims to what shards are told.

    def _publish(self, causes: Mapping[Name, str]) -> list[Instruction]:
        """Removals first, as the kubelet emits them, then what is new or changed."""
        if not self._open:
            self._held.update(causes)
            return []
        removals: list[Instruction] = []
        fresh: list[tuple[Choice, str]] = []
        for name in sorted(causes):
            chosen, known = self._intake.chosen(name), self._published.get(name)
            if known and (chosen is None or chosen[1].uid != known[0].uid):
                removals += self._take_away(known[0], causes[name], replaced=chosen is not None)
            removals += self._wait_no_more(name, chosen)
            if chosen and (known is None or chosen[1].content != known[1]):
                if (left := self._leaving.pop(name, None)) is not None and left.uid != chosen[1].uid:
                    removals += self._removal(left)
                fresh.append((chosen, causes[name]))
        return removals + self._put_all(fresh)

    def _take_away(self, old: Desired, cause: str, replaced: bool) -> list[Instruction]:
        del self._published[old.namespace, old.name]
        self._pending.discard((old.namespace, old.name))
        gone = Gone(old.uid, old.namespace, old.name, cause)
        out: list[Instruction] = []
        if replaced or self.complete:
            out = self._removal(gone)
        else:
            self._leaving[old.namespace, old.name] = gone
        if self._serves_api and old.source != SOURCE_API:
            out.append(TellStatus(gone))
        return out + self._forget(old.uid)

    def _put_all(self, fresh: list[tuple[Choice, str]]) -> list[Instruction]:
        if self._admission is None:
            return [told for choice, cause in fresh for told in self._put(choice, cause, Outcome(ADMITTED))]
        callers = sorted((caller(choice, cause) for choice, cause in fresh), key=turn_of)
        return [told for one in callers for told in self._admit(one, self._admission)]

    def _admit(self, one: Caller, admission: Admission) -> list[Instruction]:
        pod = one.choice[1]
        outcome = self._outcome(one, admission)
        verdict = outcome.verdict
        if not verdict.waits:
            return self._put(one.choice, one.cause, outcome)
        self._waiting[pod.namespace, pod.name] = pod.uid, one.cause
        if verdict.doubtful and not self._looking:
            self._looking = True
            return [LookAtNode()]
        return [self._preempt(victim) for victim in verdict.evict]

    def _outcome(self, one: Caller, admission: Admission) -> Outcome:
        pod = one.choice[1]
        known = self._published.get((pod.namespace, pod.name))
        problem = self._api.problems.get(pod.uid, ("", ""))
        return outcome_of(one, admission, problem, known[0].body if known else b"")

    def _resize(self) -> list[Instruction]:
        """Resizes that are pending are asked for again when something was freed, those of the highest priority first.

        Only a word that has changed is told: how much is used says every status of the node.
        """
        out: list[Instruction] = []
        while self._admission is not None and self._admission.room.freed:
            self._admission.room.freed = False
            choices = [choice for name in sorted(self._pending) if (choice := self._intake.chosen(name)) is not None]
            for one in sorted((caller(choice, "resources were freed") for choice in choices), key=rank_of):
                outcome, pod = self._outcome(one, self._admission), one.choice[1]
                if outcome.pending != self._published[pod.namespace, pod.name][0].resize_pending:
                    out += self._put(one.choice, one.cause, outcome)
        return out

    def _preempt(self, victim: Ask) -> Instruction:
        order = Evict(victim.uid, victim.namespace, victim.name, PREEMPTING, PREEMPTED, disruption=DISRUPTED)
        self._evicting[victim.uid] = order
        return Preempt(self._shard((victim.namespace, victim.name)), order)

    def _put(self, chosen: Choice, cause: str, outcome: Outcome) -> list[Instruction]:
        (source, _, _), pod = chosen
        name = pod.namespace, pod.name
        known = self._published.get(name)
        body = outcome.body or (with_seen_of(known[0].body, pod.body) if known and source != SOURCE_API else pod.body)
        word = outcome.verdict.refused, outcome.verdict.message, outcome.pending, outcome.why
        desired = Desired(pod.uid, pod.namespace, pod.name, source, body, cause, *word)
        self._published[name] = desired, pod.content
        self._pending.discard(name)
        if outcome.pending:
            self._pending.add(name)
        out: list[Instruction] = [Upsert(self._shard(name), desired)]
        if self._serves_api and source != SOURCE_API:
            out.append(TellStatus(desired))
        return out

    # The node, and what it frees.

    def _use(self, facts: NodeFacts) -> list[Instruction]:
        if self._admission is None:
            return []
        first = not self._admission.ready
        self._admission.use(facts)
        if not first:
            return []
        held, self._held = self._held, {}
        return self._publish(held) + (self._rosters() if self._roster_due else [])

    def _looked(self, labels: dict[str, str] | None) -> list[Instruction]:
        """The pods that wait for the node's labels are judged by these; those that came meanwhile too."""
        self._looking = False
        return self._enter(self._admission.looked(labels)) if self._admission is not None else []

    def _over(self, uid: str) -> list[Instruction]:
        """What the pod had is free. One that is wanted by nobody any more, all being known, is forgotten already.

        The order to end it stands: a shard that begins anew before the API server knows of the end must not start it.
        """
        if self._admission is None or (self.complete and not self._admission.knows(uid)):
            return []
        return self._enter(self._admission.over(uid))

    def _forget(self, uid: str) -> list[Instruction]:
        self._evicting.pop(uid, None)
        return self._enter(self._admission.forget(uid)) if self._admission is not None else []

    def _enter(self, uids: Collection[str]) -> list[Instruction]:
        """Room was made for these."""
        if not uids:
            return []
        return self._publish({name: cause for name, (uid, cause) in self._waiting.items() if uid in uids})

    def _wait_no_more(self, name: Name, chosen: Choice | None) -> list[Instruction]:
        """The name's waiting pod is admitted, or wanted no more."""
        if (waiting := self._waiting.pop(name, None)) is None or (chosen and chosen[1].uid == waiting[0]):
            return []
        return self._forget(waiting[0])

    # Everything, for whoever begins anew.

    def _listed(self, source: str) -> list[Instruction]:
        if source not in self._unseen:
            return []
        self._unseen.discard(source)
        done: list[Instruction] = []
        if self.complete:
            for gone in self._leaving.values():
                done += self._removal(gone)
            self._leaving.clear()
        return done + self._rosters()

    def _rosters(self) -> list[Instruction]:
        if not self._open:
            self._roster_due = True
            return []
        if self.complete and self._admission is not None:
            self._admission.forget_others()
        return rosters(self._wanted(), self._shards, self.complete) + self._status_roster()

    def _wanted(self) -> Iterator[tuple[Name, str]]:
        """Those too that still wait to be told: what runs of them since before is not to end."""
        yield from ((name, desired.uid) for name, (desired, _) in self._published.items())
        yield from ((name, uid) for name, (uid, _) in self._waiting.items())

    def _status_roster(self) -> list[Instruction]:
        if not self._serves_api:
            return []
        static = tuple(uid for name, uid in self._wanted() if self._intake.is_static(name))
        return [TellStatus(Roster(static, self.complete))]

    def _whole(self, shard: int) -> list[Instruction]:
        return whole(shard, self._shards, self._published, self._wanted(), self._evicting, self.complete, self._api)

    def _whole_status(self) -> list[Instruction]:
        static = [desired for desired, _ in self._published.values() if desired.source != SOURCE_API]
        return [*self._api.whole(), *(TellStatus(desired) for desired in static), *self._status_roster()]

    def _removal(self, gone: Gone) -> list[Instruction]:
        return [Remove(self._shard((gone.namespace, gone.name)), gone)]

    def _shard(self, name: Name) -> int:
        return shard_of(*name, self._shards)
