"""Shards to the server (and later the status and events actors): what became of each pod."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatusChanged:
    """The pod's newest status; `status` is msgpack of a v1.PodStatus. The last one for a uid wins."""

    uid: str
    namespace: str
    name: str
    phase: str
    source: str
    deleting: bool
    """The pod is being terminated (kubectl's `Terminating`)."""
    created_at: float
    status: bytes
    sidecars: tuple[str, ...] = ()
    """Names of its restartable init containers: a v1.PodStatus does not tell them from the others."""
    finished: bool = False
    """Nothing of it runs or will, its volumes are unmounted and its cgroup is gone: the API object may be deleted."""
    stopped: bool = False
    """Nothing of it runs and nothing will: a phase that says so may be told."""


@dataclass(frozen=True, slots=True)
class PodForgotten:
    """Nothing of this pod is left: not desired, not in the runtime, its directories removed."""

    uid: str
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class PodOver:
    """Shard to sources: nothing of the pod runs and nothing will; what it had of the node is free again."""

    uid: str


@dataclass(frozen=True, slots=True)
class PodEvent:
    """A Kubernetes event about a pod, with the kubelet's reason and text. type: `Normal` or `Warning`."""

    uid: str
    namespace: str
    name: str
    field_path: str
    """`spec.containers{web}`, or empty for the pod itself."""
    at: float
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """A Kubernetes event about the node. type: `Normal` or `Warning`."""

    at: float
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A manifest that cannot be used, or a clash of names, as `doctor` tells it. Empty problem: mended."""

    thing: str
    problem: str
    at: float
