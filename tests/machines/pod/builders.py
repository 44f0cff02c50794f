"""Dummy pods, observations and answers: a test states only what matters to it."""

from collections.abc import Iterable
from typing import Any

from podherd.machines.pod.events import StepResult, Synced, Wanted
from podherd.machines.pod.instructions import Instruction, Plan, Publish, Sync
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import Policy
from podherd.model import keys
from podherd.model.hashing import HASH_SCHEME, container_hash
from podherd.model.pod import Container, ContainerKind, Pod
from podherd.wire.desired import Roster
from podherd.wire.node import RuntimeState
from podherd.wire.observed import ContainerSeen, Observed, ObservedRoster, SandboxSeen

T0 = 1_800_000_000.0
POLICY = Policy(node_name="n1", host_ips=("192.0.2.1",))
READY = RuntimeState(True, True, "", "cgroupfs")
RELEASE = Plan(release=True)
"""All that is done for a pod that is over, as long as its source holds on to it."""


def pod(
    uid: str = "u1",
    name: str = "web",
    containers: Iterable[str] = ("main",),
    image: str = "reg.test/app:1",
    restart: str = "Always",
    grace_s: int = 30,
    source: str = keys.SOURCE_FILE,
    host_network: bool = False,
    metadata: dict[str, Any] | None = None,
) -> Pod:
    bodies = [{"name": each, "image": image} for each in containers]
    return Pod(
        uid=uid, name=name, namespace="default", source=source, labels={}, annotations={}, restart_policy=restart,
        grace_s=grace_s, host_network=host_network, init_containers=(),
        containers=tuple(Container(b["name"], b["image"], ContainerKind.REGULAR, "IfNotPresent", b) for b in bodies),
        body={"metadata": {"name": name, "uid": uid} | (metadata or {}), "spec": {"containers": bodies}},
    )  # fmt: skip


def wanted(of: Pod | None = None, **changes: Any) -> Wanted:
    return Wanted(of or pod(**changes), "file web.yaml created")


def sandbox(id: str = "s0", attempt: int = 0, ready: bool = True, created_at: float = T0, **more: Any) -> SandboxSeen:  # noqa: A002
    fields = {"host_network": False, "ips": ("10.0.0.1",), "source": keys.SOURCE_FILE} | more
    return SandboxSeen(id, attempt, ready, created_at, **fields)


def container(
    id: str = "c0",  # noqa: A002
    name: str = "main",
    state: str = "running",
    attempt: int = 0,
    image: str = "reg.test/app:1",
    created_at: float = T0,
    grace_s: int = 30,
    **more: Any,
) -> ContainerSeen:
    annotations = {
        keys.CONTAINER_HASH: container_hash(name, image),
        keys.HASH_SCHEME: HASH_SCHEME,
        keys.CONTAINER_RESTART_COUNT: str(attempt),
        keys.POD_TERMINATION_GRACE_PERIOD: str(grace_s),
    }
    fields: dict[str, Any] = {
        "sandbox_id": "s0", "started_at": created_at, "finished_at": 0.0, "exit_code": 0, "reason": "", "message": "",
        "image": image, "image_ref": "sha256:1", "annotations": annotations,
    }  # fmt: skip
    return ContainerSeen(id=id, name=name, attempt=attempt, state=state, created_at=created_at, **(fields | more))


def exited(id: str = "c0", at: float = T0, code: int = 1, **more: Any) -> ContainerSeen:  # noqa: A002
    return container(id, state="exited", **({"finished_at": at, "exit_code": code, "reason": "Error"} | more))


def observed(
    at: float,
    sandboxes: Iterable[SandboxSeen] = (),
    containers: Iterable[ContainerSeen] = (),
    uid: str = "u1",
    name: str = "web",
    stale: str = "",
) -> Observed:
    return Observed(uid, "default", name, at, tuple(sandboxes), tuple(containers), stale)


def synced(sync: Sync, at: float, *results: StepResult, did: bool = True, cancelled: bool = False) -> Synced:
    return Synced(sync.uid, sync.plan_id, at, results, did, cancelled)


def machine(policy: Policy = POLICY, complete: bool = True) -> ShardMachine:
    """One that knows an empty runtime at T0 and, unless told otherwise, that no source wants anything."""
    made = ShardMachine(policy)
    made.handle(T0, READY, Roster((), complete), ObservedRoster((), T0))
    return made


def sync_of(out: list[Instruction]) -> Sync:
    syncs = [each for each in out if isinstance(each, Sync)]
    assert len(syncs) == 1, out
    return syncs[0]


def syncs(out: list[Instruction]) -> list[Sync]:
    return [each for each in out if isinstance(each, Sync)]


def plans(out: list[Instruction]) -> list[Plan]:
    return [each.plan for each in syncs(out)]


def status_of(out: list[Instruction]) -> Any:
    published = [each for each in out if isinstance(each, Publish)]
    assert len(published) == 1, out
    return published[0].status
