"""UP lane: what the runtime holds, from the PLEG actor to the pod shards, and the shards' wish to look again."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SandboxSeen:
    """One pod sandbox as PodSandboxStatus tells it. Times in seconds since the epoch.

    ips: empty when the runtime told nothing of the network, a first one of "" when it has none.
    source: the pod's annotation `kubernetes.io/config.source` as the sandbox carries it, empty when it has none.
    """

    id: str
    attempt: int
    ready: bool
    created_at: float
    host_network: bool
    ips: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class ContainerSeen:
    """One container as ContainerStatus tells it. Times in seconds since the epoch, 0.0 when not set.

    state: `created`, `running`, `exited` or `unknown`. attempt: CRI metadata attempt (the restart count).
    message: the container's last words (its termination message) where it has any, else the runtime's.
    resources: as the runtime has them now, `cpu_shares`, `cpu_period` and `cpu_quota` (microseconds), `memory_limit`
    (bytes), without those that are 0; empty from a runtime that does not tell.
    user: uid, gid and supplemental groups of its first process where the runtime tells them, else empty.
    """

    id: str
    name: str
    sandbox_id: str
    attempt: int
    state: str
    created_at: float
    started_at: float
    finished_at: float
    exit_code: int
    reason: str
    message: str
    image: str
    image_ref: str
    annotations: dict[str, str]
    user: tuple[int, ...] = ()
    resources: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """All of one pod in the runtime; `at` was taken before the first call of the inspection.

    Newest first, by attempt then creation: the clock may be set back, an attempt never is. stale: why the inspection
    failed (then the tuples hold what was last known); empty when it succeeded. An Observed with no sandboxes and no
    containers says that the runtime holds nothing of the pod.
    """

    uid: str
    namespace: str
    name: str
    at: float
    sandboxes: tuple[SandboxSeen, ...]
    containers: tuple[ContainerSeen, ...]
    stale: str = ""


@dataclass(frozen=True, slots=True)
class ObservedRoster:
    """Every uid of the receiving shard that the runtime held at `at`; after the PLEG's first relist and after a Hello.

    A pod that is not listed was absent from the runtime then; each listed one's Observed came before.
    """

    uids: tuple[str, ...]
    at: float


@dataclass(frozen=True, slots=True)
class Reinspect:
    """Shard to PLEG: look at this pod now (the kubelet's on-demand relist), since the shard did something to it."""

    uid: str
    namespace: str
    name: str
    after: float
    """The looker's clock when the deed ended: an observation older than this is no answer."""
