"""Who wins each pod's name, kept up to date claim by claim: work follows what changed, not how much there is."""

from collections.abc import Iterable

from podherd.machines.sources.clash import Claim, rank, why
from podherd.machines.sources.events import StaticPod

Name = tuple[str, str]
"""Namespace and (suffixed) pod name."""
Choice = tuple[Claim, StaticPod]


class Claims:
    """All claims, the winner of each name, and the one name that may hold each UID."""

    def __init__(self) -> None:
        self._pods: dict[tuple[str, str], tuple[StaticPod, ...]] = {}
        self._claims: dict[Name, dict[Claim, StaticPod]] = {}
        self._winners: dict[Name, Choice] = {}
        self._holders: dict[str, set[Name]] = {}

    def holds(self, source: str, origin: str) -> bool:
        """Whether this origin has pods."""
        return (source, origin) in self._pods

    def is_of(self, source: str, origin: str, uid: str) -> bool:
        """Whether this origin has a pod of this uid."""
        return any(pod.uid == uid for pod in self._pods.get((source, origin), ()))

    def count(self, source: str, origin: str) -> int:
        """How many pods this origin has."""
        return len(self._pods.get((source, origin), ()))

    def replace(self, source: str, origin: str, pods: tuple[StaticPod, ...]) -> set[Name]:
        """The origin now holds exactly these pods; returns the names whose outcome may have changed."""
        old = self._pods.pop((source, origin), ())
        if pods:
            self._pods[source, origin] = pods
        if old == pods:
            return set()
        names = {(pod.namespace, pod.name) for pod in (*old, *pods)}
        for index, pod in enumerate(old):
            del self._claims[pod.namespace, pod.name][Claim(source, origin, index)]
        for index, pod in enumerate(pods):
            self._claims.setdefault((pod.namespace, pod.name), {})[Claim(source, origin, index)] = pod
        return self._settle(names)

    def _settle(self, names: set[Name]) -> set[Name]:
        """Choose the winners of these names anew; a name that shares a UID with one of them is touched too."""
        uids: set[str] = set()
        for name in names:
            if (before := self._winners.pop(name, None)) is not None:
                uids.add(before[1].uid)
                self._unhold(before[1].uid, name)
            if not (claims := self._claims[name]):
                del self._claims[name]
                continue
            claim = min(claims, key=rank) if len(claims) > 1 else next(iter(claims))
            uid = claims[claim].uid
            self._winners[name] = claim, claims[claim]
            self._holders.setdefault(uid, set()).add(name)
            uids.add(uid)
        return names.union(*(self._holders.get(uid, ()) for uid in uids))

    def _unhold(self, uid: str, name: Name) -> None:
        self._holders[uid].discard(name)
        if not self._holders[uid]:
            del self._holders[uid]

    def chosen(self, name: Name) -> Choice | None:
        """What should run under this name; None when nobody claims it or another name holds its UID."""
        choice = self._winners.get(name)
        return choice if choice and self._holder(choice[1].uid) == name else None

    def _holder(self, uid: str) -> Name:
        """The name that a UID belongs to: where two claim it, the one whose claim ranks first."""
        holders = self._holders[uid]
        return next(iter(holders)) if len(holders) == 1 else min(holders, key=lambda name: rank(self._winners[name][0]))

    def losses(self, names: Iterable[Name]) -> dict[Claim, str]:
        """For every claim on these names why it is not used; an empty text for those that are."""
        return {
            claim: self._loss(name, claim, pod)
            for name in names
            for claim, pod in self._claims.get(name, {}).items()
        }  # fmt: skip

    def _loss(self, name: Name, claim: Claim, pod: StaticPod) -> str:
        winner = self._winners[name][0]
        key = "/".join(name)
        if claim != winner:
            return f"pod {key} is also declared by {winner.origin}, which is used: {why(winner, claim)}"
        holder = self._holder(pod.uid)
        if holder == name:
            return ""
        other = self._winners[holder][0]
        reason = why(other, claim)
        return f"pod {key} has the metadata.uid of pod {'/'.join(holder)} in {other.origin}, which is used: {reason}"
