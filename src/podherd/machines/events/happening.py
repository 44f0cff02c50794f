"""What happened, whether to a pod or to the node, in the words of a v1.Event."""

from dataclasses import dataclass
from typing import Any

from podherd.model.status import rfc3339
from podherd.wire.status import NodeEvent, PodEvent

COMPONENT = "kubelet"
"""What tools look for as an event's source."""
MESSAGE_MAX = 1024
"""Characters of a message that are told: the limit of the API."""
NODE_EVENTS = "default"
"""The namespace of events about what has none."""


@dataclass(frozen=True, slots=True)
class About:
    """The object that it happened to; uid: for a node whose object is not known, its name."""

    kind: str
    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class Happening:
    """One occurrence. type: `Normal` or `Warning`. field_path: `spec.containers{web}` or empty."""

    about: About
    field_path: str
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Record:
    """The state of one v1.Event object; times in epoch seconds."""

    name: str
    happening: Happening
    count: int
    first_at: float
    last_at: float

    @property
    def namespace(self) -> str:
        """Where the Event object is kept."""
        return self.happening.about.namespace or NODE_EVENTS

    def body(self, node: str) -> dict[str, Any]:
        """The whole v1.Event."""
        what = self.happening
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "involvedObject": _reference(what),
            "reason": what.reason,
            "source": {"component": COMPONENT, "host": node},
            "reportingComponent": COMPONENT,
            "reportingInstance": node,
            "type": what.type,
            "firstTimestamp": rfc3339(self.first_at),
            **self.changes(),
        }

    def changes(self) -> dict[str, Any]:
        """What one more occurrence changes of it: the body of a patch."""
        return {"count": self.count, "lastTimestamp": rfc3339(self.last_at), "message": self.happening.message}


def _reference(what: Happening) -> dict[str, str]:
    about = what.about
    given = {"namespace": about.namespace, "uid": about.uid, "fieldPath": what.field_path}
    return {"apiVersion": "v1", "kind": about.kind, "name": about.name} | {k: v for k, v in given.items() if v}


def happening_of(event: PodEvent | NodeEvent, node: str, node_uid: str) -> Happening:
    """The message of an actor as a happening; node_uid: empty when it is not known."""
    if isinstance(event, PodEvent):
        about = About("Pod", event.namespace, event.name, event.uid)
        field_path = event.field_path
    else:
        about, field_path = About("Node", "", node, node_uid or node), ""
    return Happening(about, field_path, event.type, event.reason, event.message[:MESSAGE_MAX])
