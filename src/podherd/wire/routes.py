"""Who may send which message to whom: the flow of the design as one table.

An actor's *role* is its name without the shard number: `pod_shard-1` has the role `pod_shard`.
"""

from podherd.errors import WireError
from podherd.wire.control import Answer, Ask, Drain, Drained, Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.node import NodeState, PlegHealth, RuntimeState
from podherd.wire.observed import Observed, ObservedRoster, Reinspect
from podherd.wire.status import PodEvent, PodForgotten, SourceProblem, StatusChanged

SOURCES = "sources"
PLEG = "pleg"
POD_SHARD = "pod_shard"
NODE = "node"
SERVER = "server"

ROUTES: dict[tuple[str, str], frozenset[type]] = {
    (SOURCES, POD_SHARD): frozenset({Desired, Gone, Roster}),
    (SOURCES, SERVER): frozenset({Hello, SourceProblem}),
    (PLEG, POD_SHARD): frozenset({Observed, ObservedRoster}),
    (PLEG, NODE): frozenset({PlegHealth}),
    (PLEG, SERVER): frozenset({PlegHealth}),
    (POD_SHARD, SOURCES): frozenset({Hello}),
    (POD_SHARD, PLEG): frozenset({Reinspect, Hello}),
    (POD_SHARD, NODE): frozenset({Hello}),
    (POD_SHARD, SERVER): frozenset({Hello, StatusChanged, PodForgotten, PodEvent, Answer, Drained}),
    (NODE, POD_SHARD): frozenset({RuntimeState}),
    (NODE, SERVER): frozenset({NodeState, Answer}),
    (SERVER, SOURCES): frozenset({Hello}),
    (SERVER, POD_SHARD): frozenset({Hello, Ask, Drain}),
    (SERVER, NODE): frozenset({Hello, Ask}),
}


def role_of(actor: str) -> str:
    """`pod_shard-1` -> `pod_shard`."""
    return actor.partition("-")[0]


def check(sender: str, receiver: str, kind: type) -> None:
    """Raise WireError unless the table lets `sender` send a `kind` to `receiver` (both are actor names)."""
    if kind not in ROUTES.get((role_of(sender), role_of(receiver)), ()):
        raise WireError(f"{sender} -> {receiver}", f"no route for {kind.__name__}", "add it to wire/routes.py")
