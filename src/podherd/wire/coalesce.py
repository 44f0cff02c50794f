"""Which waiting messages replace each other: the last value for a key wins, so what waits is bounded by the pods."""

from collections.abc import Hashable

from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster
from podherd.wire.control import Drain, Drained, Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import NodeFacts, NodeState, PlegHealth, RuntimeState, VolumesInUse
from podherd.wire.objects import Needs, ObjectState
from podherd.wire.observed import Observed, ObservedRoster, Reinspect
from podherd.wire.status import PodForgotten, PodOver, SourceProblem, StatusChanged

_BY_UID: dict[type, str] = {
    Desired: "desired", Gone: "desired",
    Observed: "observed", Reinspect: "reinspect",
    StatusChanged: "status", PodForgotten: "status",
    ApiPod: "api", ApiPodGone: "api",
    Needs: "needs", Evict: "evict", PodOver: "over",
}  # fmt: skip
_SINGLE = frozenset({
    Drain, Drained, Hello, Roster, ObservedRoster, PlegHealth, NodeState, RuntimeState,
    ApiRoster, NodeFacts, VolumesInUse,
})  # fmt: skip


def key_of(message: object) -> Hashable | None:
    """The coalescing key, or None for a message of which every single one counts (events, questions)."""
    kind: type = type(message)
    if lane := _BY_UID.get(kind):
        return lane, message.uid  # type: ignore[attr-defined]
    if kind in _SINGLE:
        return kind
    if isinstance(message, SourceProblem):
        return kind, message.thing
    if isinstance(message, ObjectState):
        return kind, message.of
    return None
