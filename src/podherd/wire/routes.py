"""Who may send which message to whom: the flow of the design as one table.

An actor's *role* is its name without the shard number: `pod_shard-1` has the role `pod_shard`.
"""

from podherd.errors import WireError
from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster
from podherd.wire.control import Answer, Ask, Drain, Drained, Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.evict import Evict
from podherd.wire.node import NodeFacts, NodeState, PlegHealth, RuntimeState, VolumesInUse
from podherd.wire.objects import Needs, ObjectState
from podherd.wire.observed import Observed, ObservedRoster, Reinspect
from podherd.wire.status import NodeEvent, PodEvent, PodForgotten, PodOver, SourceProblem, StatusChanged

SOURCES = "sources"
PLEG = "pleg"
POD_SHARD = "pod_shard"
NODE = "node"
SERVER = "server"
STATUS = "status"
EVENTS = "events"
OBJECTS = "objects"

ROUTES: dict[tuple[str, str], frozenset[type]] = {
    (SOURCES, POD_SHARD): frozenset({Hello, Desired, Gone, Roster, Evict}),
    (SOURCES, SERVER): frozenset({Hello, SourceProblem}),
    (SOURCES, STATUS): frozenset({Desired, Gone, Roster, ApiPod, ApiPodGone, ApiRoster}),
    (SOURCES, EVENTS): frozenset({PodEvent}),
    (SOURCES, NODE): frozenset({Hello}),
    (PLEG, POD_SHARD): frozenset({Observed, ObservedRoster}),
    (PLEG, NODE): frozenset({PlegHealth}),
    (PLEG, SERVER): frozenset({PlegHealth}),
    (POD_SHARD, SOURCES): frozenset({Hello, PodOver}),
    (POD_SHARD, PLEG): frozenset({Reinspect, Hello}),
    (POD_SHARD, NODE): frozenset({Answer, Hello, VolumesInUse}),
    (POD_SHARD, SERVER): frozenset({Hello, StatusChanged, PodForgotten, PodEvent, Answer, Drained}),
    (POD_SHARD, STATUS): frozenset({StatusChanged, PodForgotten}),
    (POD_SHARD, EVENTS): frozenset({PodEvent}),
    (POD_SHARD, OBJECTS): frozenset({Hello, Needs}),
    (NODE, POD_SHARD): frozenset({Ask, Hello, RuntimeState, NodeFacts, Evict}),
    (NODE, SERVER): frozenset({NodeState, Answer}),
    (NODE, SOURCES): frozenset({NodeFacts}),
    (NODE, STATUS): frozenset({NodeFacts}),
    (NODE, EVENTS): frozenset({NodeFacts, NodeEvent}),
    (SERVER, SOURCES): frozenset({Hello}),
    (SERVER, POD_SHARD): frozenset({Hello, Ask, Drain}),
    (SERVER, NODE): frozenset({Hello, Ask}),
    (STATUS, SOURCES): frozenset({Hello}),
    (STATUS, POD_SHARD): frozenset({Hello}),
    (STATUS, NODE): frozenset({Hello}),
    (EVENTS, NODE): frozenset({Hello}),
    (OBJECTS, POD_SHARD): frozenset({Hello, ObjectState}),
}


def role_of(actor: str) -> str:
    """`pod_shard-1` -> `pod_shard`."""
    return actor.partition("-")[0]


def check(sender: str, receiver: str, kind: type) -> None:
    """Raise WireError unless the table lets `sender` send a `kind` to `receiver` (both are actor names)."""
    if kind not in ROUTES.get((role_of(sender), role_of(receiver)), ()):
        raise WireError(f"{sender} -> {receiver}", f"no route for {kind.__name__}", "add it to wire/routes.py")
