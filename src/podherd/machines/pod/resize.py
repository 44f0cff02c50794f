"""In-place resize: what a running container was given against what its spec grants (kubelet behaviour, 3.2 and 6.3).

What it was given is what the runtime tells of it. Of a runtime that tells nothing it is what this agent has given it,
or what the API server was told of it before this agent began.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from podherd.machines.pod.decision import Case, Decision
from podherd.machines.pod.events import Started
from podherd.machines.pod.instructions import KillContainer, ResizeContainer
from podherd.machines.pod.record import RUNNING, Record
from podherd.model.cpu_time import cpu_quota_us, cpu_shares
from podherd.model.pod import Container, ContainerKind, Pod
from podherd.model.quantity import QuantityError
from podherd.model.resources import Amounts, amounts_of
from podherd.wire.observed import ContainerSeen

RESIZE = "resize"
"""The step that changes them."""
_LEAST_MILLI = 2
_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_BOTH = ("requests", "limits")


def unlike(record: Record, pod: Pod) -> dict[str, tuple[str, ...]]:
    """By name of each container and sidecar that runs, `cpu` and `memory` where it has other than its spec grants.

    Each is changed once for what its spec grants: a runtime that tells other numbers than it was told is left alone.
    """
    found = {}
    for container in (*pod.init_containers, *pod.containers):
        seen = record.newest.get(container.name)
        if seen is None or seen.state != RUNNING or container.kind is ContainerKind.INIT:
            continue
        kinds = _kinds(pod, container, seen) if seen.resources else _changed(container, record.given.get(seen.id))
        if kinds and not _is_applied(record, container, seen):
            found[container.name] = kinds
    return found


def _kinds(pod: Pod, container: Container, seen: ContainerSeen) -> tuple[str, ...]:
    try:
        resources = container.body.get("resources")
        requests, limits = amounts_of(resources, "requests"), amounts_of(resources, "limits")
        whole = amounts_of(pod.body["spec"].get("resources"), "limits")
    except QuantityError:
        return ()
    limits = whole | {name: amount for name, amount in limits.items() if amount}
    given = seen.resources
    cpu = ("cpu",) if _is_cpu_unlike(requests, limits.get("cpu", 0), given) else ()
    return cpu if given.get("memory_limit", 0) == limits.get("memory", 0) else (*cpu, "memory")


def _changed(container: Container, given: Any) -> tuple[str, ...]:
    """Against the v1.ResourceRequirements that it was given; nothing where they are not known."""
    if not isinstance(given, Mapping):
        return ()
    try:
        cpu = any(_amount(container.body.get("resources"), k, "cpu") != _amount(given, k, "cpu") for k in _BOTH)
        memory = _amount(container.body.get("resources"), "limits", "memory") != _amount(given, "limits", "memory")
    except QuantityError:
        return ()
    return ("cpu",) * cpu + ("memory",) * memory


def _amount(resources: Any, kind: str, name: str) -> int:
    return amounts_of(resources, kind).get(name, 0)


def _is_cpu_unlike(requests: Amounts, limit: int, given: dict[str, int]) -> bool:
    """Where the runtime tells of a period, its quota counts: the agent may be told to enforce none."""
    shares, period_us = cpu_shares(requests.get("cpu", limit)), given.get("cpu_period", 0)
    if given.get("cpu_shares", shares) != shares:
        return True
    return bool(period_us) and max(0, given.get("cpu_quota", 0)) != cpu_quota_us(limit, period_us)


def _is_applied(record: Record, container: Container, seen: ContainerSeen) -> bool:
    return seen.id in record.resized and record.resized[seen.id] == container.body.get("resources")


def why_restart(record: Record, container: Container) -> str:
    """Why a container that runs must be started anew for its resize (`resizePolicy`); empty for most."""
    if (kinds := record.unlike.get(container.name)) is None:
        return ""
    policies = container.body.get("resizePolicy") or ()
    anew = {each.get("resourceName") for each in policies if each.get("restartPolicy") == "RestartContainer"}
    return "" if anew.isdisjoint(kinds) else f"Container {container.name} resize requires restart"


def resizes(case: Case, sandbox_id: str, kills: Iterable[KillContainer], decision: Decision) -> list[ResizeContainer]:
    """Containers and sidecars that run on with other resources; one that could not be changed waits for a while."""
    record = case.record
    if not record.unlike:
        return []
    ending, here = {kill.id for kill in kills}, [record.newest[name] for name in record.unlike]
    found = [ResizeContainer(seen.id, seen.name) for seen in here if seen.sandbox_id == sandbox_id]
    found = [each for each in found if each.id not in ending]
    if found and case.now < record.resize_retry_at:
        decision.waits.append(record.resize_retry_at)
        return []
    return found


def note_starts(record: Record, pod: Pod, started: Iterable[Started]) -> None:
    """Remember what each was given. pod: the one that they were started by."""
    live = {seen.id for seen in record.containers}
    record.given = {each: given for each, given in record.given.items() if each in live}
    bodies = {container.name: container.body.get("resources") or {} for container in pod.every_container}
    record.given |= {each.id: bodies.get(each.name) for each in started}


def note_resizes(record: Record, pod: Pod, done: Iterable[ResizeContainer]) -> None:
    """Remember what was done without a failure. pod: the one that it was done by."""
    ids = {each.id for each in done}
    bodies = {container.name: container.body.get("resources") for container in pod.every_container}
    live = {seen.id for seen in record.containers}
    record.resized = {each: given for each, given in record.resized.items() if each in live}
    changed = {seen.id: bodies.get(seen.name) for seen in record.containers if seen.id in ids}
    record.resized |= changed
    record.given |= changed


def _in_units(amount: int) -> str:
    """Bytes as Kubernetes writes them: `64Mi`, in the largest unit that leaves no rest."""
    units = 0
    while amount % 1024 == 0 and units < len(_UNITS) - 1:
        amount, units = amount // 1024, units + 1
    return f"{amount}{_UNITS[units]}"


def given_resources(record: Record, resources: Any, seen: ContainerSeen) -> dict[str, Any]:
    """`resources` as they are while a resize goes on: CPU and memory as the runtime has them."""
    given = seen.resources
    if not given:
        had = record.given.get(seen.id) or {}
        return {**resources, **{kind: had[kind] for kind in _BOTH if had.get(kind)}}
    limits, requests = dict(resources.get("limits") or {}), dict(resources.get("requests") or {})
    if "cpu" in requests and (shares := given.get("cpu_shares", 0)) > _LEAST_MILLI:
        requests["cpu"] = f"{-(-shares * 1000 // 1024)}m"
    if "cpu" in limits and given.get("cpu_quota", 0) > 0 and (period_us := given.get("cpu_period", 0)):
        limits["cpu"] = f"{given['cpu_quota'] * 1000 // period_us}m"
    if "memory" in limits and given.get("memory_limit", 0) > 0:
        limits["memory"] = _in_units(given["memory_limit"])
    told = {"limits": limits, "requests": requests}
    return {**resources, **{name: value for name, value in told.items() if value}}
