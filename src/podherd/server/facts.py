"""Everything the server was told, and how each message changes it. No I/O, no clock."""

from dataclasses import dataclass, field
from typing import Any

from podherd.machines.pleg.health import pleg_trouble
from podherd.server.event_ring import EventRing
from podherd.server.pod_table import PodTable
from podherd.server.watch import Hub
from podherd.wire import codec
from podherd.wire.node import NodeState, PlegHealth
from podherd.wire.status import PodEvent, PodForgotten, SourceProblem, StatusChanged


@dataclass(slots=True)
class Facts:
    """Tables that the handlers read."""

    pods: PodTable = field(default_factory=PodTable)
    events: EventRing = field(default_factory=EventRing)
    hub: Hub = field(default_factory=Hub)
    problems: dict[str, SourceProblem] = field(default_factory=dict)
    node_state: NodeState | None = None
    pleg: PlegHealth | None = None

    def apply(self, message: codec.Message) -> None:
        """Take one message; kinds that say nothing of pods, node or sources are none of ours."""
        match message:
            case StatusChanged():
                self.pods.put(message)
                self.hub.publish(message)
            case PodForgotten():
                self.pods.forget(message)
                self.hub.publish(message)
            case PodEvent():
                self.events.add(message)
            case SourceProblem():
                self._problem(message)
            case NodeState():
                self.node_state = message
            case PlegHealth():
                self.pleg = message

    def _problem(self, problem: SourceProblem) -> None:
        if problem.problem:
            self.problems[problem.thing] = problem
        else:
            self.problems.pop(problem.thing, None)
        self.hub.publish(problem)

    def node(self) -> dict[str, Any] | None:
        """The v1.Node, None before the node actor has spoken."""
        if self.node_state is None:
            return None
        node: dict[str, Any] = codec.unpack(self.node_state.node)
        return node

    def ill(self, now: float) -> str:
        """Why the agent is not healthy, in the kubelet's words; empty when it is."""
        return pleg_trouble(self.pleg, now)
