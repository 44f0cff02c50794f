"""CRI statuses of one pod as the wire's Observed (kubelet behaviour, section 4)."""

from collections.abc import Iterable

from cri_api.v1 import api_pb2 as pb

from podherd.model.keys import CONFIG_SOURCE
from podherd.wire.observed import ContainerSeen, Observed, SandboxSeen

_STATES = {pb.CONTAINER_CREATED: "created", pb.CONTAINER_RUNNING: "running", pb.CONTAINER_EXITED: "exited"}
_NS = 1e-9


def observed(
    uid: str,
    namespace: str,
    name: str,
    at: float,
    sandboxes: Iterable[pb.PodSandboxStatus],
    containers: Iterable[tuple[str, pb.ContainerStatus]],
) -> Observed:
    """All of one pod, newest first. containers: with the sandbox id of each, which a CRI status does not tell.

    at: the looker's clock before the first call of the inspection.
    """
    seen = sorted(map(sandbox_seen, sandboxes), key=lambda sandbox: (sandbox.attempt, sandbox.created_at), reverse=True)
    held = sorted((container_seen(*each) for each in containers), key=_newness, reverse=True)
    return Observed(uid, namespace, name, at, tuple(seen), tuple(held))


def _newness(container: ContainerSeen) -> tuple[int, float]:
    """By attempt first: the clock may have been set back between two of them."""
    return container.attempt, container.created_at


def sandbox_seen(status: pb.PodSandboxStatus) -> SandboxSeen:
    """One sandbox. No addresses when the runtime says nothing of its network; a first one of "" when it has none."""
    network = status.network
    told = status.HasField("network")
    addresses = (network.ip, *(more.ip for more in network.additional_ips)) if told else ()
    return SandboxSeen(
        id=status.id,
        attempt=status.metadata.attempt,
        ready=status.state == pb.SANDBOX_READY,
        created_at=status.created_at * _NS,
        host_network=status.linux.namespaces.options.network == pb.NODE,
        ips=addresses,
        source=status.annotations.get(CONFIG_SOURCE, ""),
    )


def container_seen(sandbox_id: str, status: pb.ContainerStatus) -> ContainerSeen:
    """One container; a state that this code does not know is `unknown`."""
    return ContainerSeen(
        id=status.id,
        name=status.metadata.name,
        sandbox_id=sandbox_id,
        attempt=status.metadata.attempt,
        state=_STATES.get(status.state, "unknown"),
        created_at=status.created_at * _NS,
        started_at=status.started_at * _NS,
        finished_at=status.finished_at * _NS,
        exit_code=status.exit_code,
        reason=status.reason,
        message=status.message,
        image=status.image.image,
        image_ref=status.image_ref,
        annotations=dict(status.annotations),
        user=_user_of(status),
        resources=_resources_of(status),
    )


def _resources_of(status: pb.ContainerStatus) -> dict[str, int]:
    """CPU and memory of a container that runs: nobody asks what a dead one had."""
    if status.state != pb.CONTAINER_RUNNING or not status.resources.HasField("linux"):
        return {}
    linux = status.resources.linux
    told = {
        "cpu_shares": linux.cpu_shares, "cpu_period": linux.cpu_period, "cpu_quota": linux.cpu_quota,
        "memory_limit": linux.memory_limit_in_bytes,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value}


def _user_of(status: pb.ContainerStatus) -> tuple[int, ...]:
    """uid, gid and groups of the first process; empty from a runtime that does not tell."""
    if not status.HasField("user"):
        return ()
    user = status.user.linux
    return (user.uid, user.gid, *user.supplemental_groups)
