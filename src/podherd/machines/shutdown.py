"""Graceful shutdown of the node: its pods end by priority, the lowest first (kubelet behaviour, section 7). Pure.

Which pods there are is asked again and again, of every shard: so an actor that begins anew meanwhile is asked too.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from podherd.wire.evict import Evict

LOOK_S = 0.5
"""Between two looks at which pods are still there."""
SYSTEM_CRITICAL = 2_000_000_000
"""The priority from which on a pod is critical to the system."""
REASON = "Terminated"
MESSAGE = "Pod was terminated in response to imminent node shutdown."


@dataclass(frozen=True, slots=True)
class Group:
    """Pods of at least this priority, below that of the next group, get so many seconds."""

    priority: int
    grace_s: int


@dataclass(frozen=True, slots=True)
class ActivePod:
    """A pod of which something runs, or is mounted."""

    uid: str
    namespace: str
    name: str
    priority: int


@dataclass(frozen=True, slots=True)
class AskPods:
    """Ask this shard for its active pods; each answers with ActivePods."""

    shard: str


@dataclass(frozen=True, slots=True)
class EndPod:
    """Send to this shard."""

    shard: str
    order: Evict


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Answer with Woke at this time."""

    at: float


@dataclass(frozen=True, slots=True)
class LetShutDown:
    """The pods have ended, or had their time: do not hold the machine back any longer."""


@dataclass(frozen=True, slots=True)
class HoldShutDown:
    """Hold the next shutdown back, as from the start."""


Instruction: TypeAlias = AskPods | EndPod | WakeAt | LetShutDown | HoldShutDown


def groups_of(grace_s: float, critical_s: float, by_priority: Sequence[tuple[int, float]]) -> tuple[Group, ...]:
    """Of the configuration, the lowest priority first; none: shutdown is not graceful.

    by_priority: priority and seconds; without it critical pods get critical_s of the grace_s, and others the rest.
    """
    if by_priority:
        return tuple(Group(priority, int(seconds)) for priority, seconds in sorted(by_priority))
    if not grace_s:
        return ()
    return Group(0, int(grace_s - critical_s)), Group(SYSTEM_CRITICAL, int(critical_s))


def needed_s(groups: Sequence[Group]) -> int:
    """How long a shutdown takes at most."""
    return sum(group.grace_s for group in groups)


class Shutdown:
    """One that goes on. shards: their names; a group is over once each of them has told that it has none of its pods.

    Of a group that does not end in its time nobody waits for the rest.
    """

    def __init__(self, groups: Sequence[Group], shards: Sequence[str]) -> None:
        self._groups = groups
        self._shards = shards
        self._active: dict[str, tuple[ActivePod, ...]] = {}
        self._ordered: dict[str, str] = {}
        self._group = 0
        self._since = 0.0

    @property
    def over(self) -> bool:
        """Whether the last group is done."""
        return self._group == len(self._groups)

    def begin(self, now: float) -> list[Instruction]:
        """What to ask first."""
        self._since = now
        return self.look(now)

    def look(self, now: float) -> list[Instruction]:
        """Go on, and look again."""
        told = self._advance(now)
        if self.over:
            return told
        return [*told, *(AskPods(shard) for shard in self._shards), WakeAt(now + LOOK_S)]

    def hear(self, now: float, shard: str, pods: tuple[ActivePod, ...]) -> list[Instruction]:
        """A shard has told which pods it has."""
        if self.over:
            return []
        self._active[shard] = pods
        return self._advance(now)

    def forget(self, shard: str) -> None:
        """A shard has begun anew: it knows of no order."""
        self._active.pop(shard, None)
        self._ordered = {uid: of for uid, of in self._ordered.items() if of != shard}

    def _advance(self, now: float) -> list[Instruction]:
        told: list[Instruction] = []
        while not self.over:
            told += self._orders()
            if not self._ended(now):
                return told
            self._group, self._since = self._group + 1, now
        return [*told, LetShutDown()]

    def _orders(self) -> Iterator[Instruction]:
        """For the group's pods, and for those of lower groups that have come since."""
        for shard, pods in self._active.items():
            for pod in pods:
                if pod.uid not in self._ordered and (group := self._group_of(pod)) <= self._group:
                    self._ordered[pod.uid] = shard
                    yield EndPod(shard, _order(pod, self._groups[group].grace_s))

    def _ended(self, now: float) -> bool:
        if now >= self._since + self._groups[self._group].grace_s:
            return True
        there = (self._group_of(pod) for pods in self._active.values() for pod in pods)
        return all(shard in self._active for shard in self._shards) and self._group not in there

    def _group_of(self, pod: ActivePod) -> int:
        """A pod below the lowest group is of the lowest."""
        return max(0, bisect_right([group.priority for group in self._groups], pod.priority) - 1)


def _order(pod: ActivePod, grace_s: int) -> Evict:
    return Evict(pod.uid, pod.namespace, pod.name, REASON, MESSAGE, grace_s, MESSAGE)
