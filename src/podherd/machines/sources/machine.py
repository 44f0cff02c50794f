"""The sources machine: origins in, differences out (kubelet behaviour, section 1.5; cases SRC-1 and SRC-3).

Only real changes leave it: a pod whose UID and content are as before is not told again. An edited static pod is a new
UID under its old name: its predecessor is taken away at once, also while other sources are still unknown. Any other
removal waits until every configured source was seen.
"""

from collections.abc import Iterable

from podherd.machines.sources.claims import Choice, Claims, Name
from podherd.machines.sources.events import (
    Event,
    Noted,
    OriginBad,
    OriginGone,
    OriginRead,
    ServerStarted,
    ShardStarted,
    SourceListed,
    Started,
    StaticPod,
)
from podherd.machines.sources.instructions import Instruction, List, Remove, Upsert, Warn
from podherd.machines.sources.own_uid import with_own_uid
from podherd.machines.sources.problems import Problems
from podherd.machines.sources.seen import with_seen_of
from podherd.model.keys import shard_of
from podherd.wire.desired import Desired, Gone, Roster

_MANIFEST = "manifest"


class SourcesMachine:
    """One per node. shards: how many pod shards there are; configured: the sources that must be seen."""

    def __init__(self, shards: int, configured: Iterable[str]) -> None:
        self._shards = shards
        self._unseen = set(configured)
        self._claims = Claims()
        self._published: dict[Name, tuple[Desired, str]] = {}
        self._leaving: dict[Name, Gone] = {}
        self._homes: dict[str, Name] = {}
        self._problems = Problems()

    @property
    def complete(self) -> bool:
        """Every configured source was seen."""
        return not self._unseen

    def handle(self, now: float, *events: Event) -> list[Instruction]:
        """What to send because of these events."""
        done: list[Instruction] = []
        for event in events:
            done += self._handle(event)
        done += [Warn(problem) for problem in self._problems.news(now)]
        return done

    def _handle(self, event: Event) -> list[Instruction]:
        match event:
            case OriginRead(source, origin, pods, warnings):
                self._problems.note(origin, _MANIFEST, "; ".join(warnings))
                verb = "changed" if self._claims.holds(source, origin) else "created"
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
                return self._rosters() if self.complete else []
            case ShardStarted(shard):
                return self._whole(shard)
            case ServerStarted():
                return [Warn(problem) for problem in self._problems.all()]

    def _replace(self, source: str, origin: str, pods: tuple[StaticPod, ...], verb: str) -> list[Instruction]:
        """The origin holds these pods now; what follows for them and for whoever they clash with."""
        before = self._claims.count(source, origin)
        touched = self._claims.replace(source, origin, pods)
        if not touched:
            return []
        for index in range(len(pods), before):
            self._problems.note(origin, f"clash {index}", "")
            self._problems.note(origin, f"uid {index}", "")
        for claim, text in self._claims.losses(touched).items():
            self._problems.note(claim.origin, f"clash {claim.place}", text)
            self._problems.note(claim.origin, f"uid {claim.place}", "")
        return self._publish(touched, f"{source} {origin} {verb}")

    def _publish(self, names: set[Name], cause: str) -> list[Instruction]:
        """Removals first, as the kubelet emits them, then what is new or changed."""
        removals: list[Instruction] = []
        upserts: list[Instruction] = []
        for name in sorted(names):
            chosen, known = self._chosen(name), self._published.get(name)
            if known and (chosen is None or chosen[1].uid != known[0].uid):
                removals += self._take_away(known[0], cause, replaced=chosen is not None)
            if chosen and (known is None or chosen[1].content != known[1]):
                if (left := self._leaving.pop(name, None)) is not None and left.uid != chosen[1].uid:
                    removals.append(self._removal(left))
                upserts.append(self._put(chosen, cause))
        return removals + upserts

    def _chosen(self, name: Name) -> Choice | None:
        """What should run under this name, with a uid of its own where another name had its `metadata.uid` before."""
        choice = self._claims.chosen(name)
        if choice is None or choice[1].uid == choice[1].content:
            return choice
        claim, pod = choice
        home = self._homes.setdefault(pod.uid, name)
        if home == name:
            return choice
        text = f"metadata.uid {pod.uid} was that of pod {'/'.join(home)}: this pod gets a uid of its own"
        self._problems.note(claim.origin, f"uid {claim.place}", f"{text}; give it a new one")
        return claim, with_own_uid(pod)

    def _take_away(self, old: Desired, cause: str, replaced: bool) -> list[Instruction]:
        del self._published[old.namespace, old.name]
        gone = Gone(old.uid, old.namespace, old.name, cause)
        if replaced or self.complete:
            return [self._removal(gone)]
        self._leaving[old.namespace, old.name] = gone
        return []

    def _put(self, chosen: Choice, cause: str) -> Instruction:
        (source, _, _), pod = chosen
        name = pod.namespace, pod.name
        known = self._published.get(name)
        body = with_seen_of(known[0].body, pod.body) if known else pod.body
        desired = Desired(pod.uid, pod.namespace, pod.name, source, body, cause)
        self._published[name] = desired, pod.content
        return Upsert(self._shard(name), desired)

    def _listed(self, source: str) -> list[Instruction]:
        if source not in self._unseen:
            return []
        self._unseen.discard(source)
        done: list[Instruction] = []
        if self.complete:
            done += [self._removal(gone) for gone in self._leaving.values()]
            self._leaving.clear()
        return done + self._rosters()

    def _rosters(self) -> list[Instruction]:
        uids: list[list[str]] = [[] for _ in range(self._shards)]
        for name, (desired, _) in self._published.items():
            uids[self._shard(name)].append(desired.uid)
        return [List(shard, Roster(tuple(of), self.complete)) for shard, of in enumerate(uids)]

    def _whole(self, shard: int) -> list[Instruction]:
        mine = [desired for name, (desired, _) in self._published.items() if self._shard(name) == shard]
        roster = Roster(tuple(desired.uid for desired in mine), self.complete)
        return [*(Upsert(shard, desired) for desired in mine), List(shard, roster)]

    def _removal(self, gone: Gone) -> Instruction:
        return Remove(self._shard((gone.namespace, gone.name)), gone)

    def _shard(self, name: Name) -> int:
        return shard_of(*name, self._shards)
