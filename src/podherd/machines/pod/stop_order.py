"""How one container is told to stop: its hook, its turn, what is left of its grace (kubelet behaviour, section 3.8)."""

import json
from collections.abc import Iterable

from podherd.machines.pod.instructions import KillContainer
from podherd.machines.pod.policy import Policy
from podherd.machines.pod.record import LIVE, Record
from podherd.model import keys
from podherd.model.pod import Body, ContainerKind, Pod
from podherd.wire.observed import ContainerSeen


def kill_of(
    record: Record,
    policy: Policy,
    now: float,
    seen: ContainerSeen,
    grace_s: int,
    message: str,
    after: tuple[str, ...] = (),
) -> KillContainer:
    """The order to stop `seen` within `grace_s`, or within what an earlier order has left of its own.

    A second order gives no second grace, nor a second run of the hook (case TERM-1).
    """
    until = record.kill_until.get(seen.id)
    left_s = grace_s if until is None else min(grace_s, max(0, int(until - now)))
    hook = _hook(record.pod, seen) if may_hook(record, seen, left_s) else None
    ip = "" if hook is None else _ip(record, policy)
    return KillContainer(seen.id, seen.name, left_s, message, hook, after, ip)


def may_hook(record: Record, seen: ContainerSeen, left_s: int) -> bool:
    """Whether there is time for its preStop hook, and it has not run."""
    return left_s > 0 and seen.id not in record.hooked


def kill_all(record: Record, policy: Policy, now: float, grace_s: int) -> tuple[KillContainer, ...]:
    """Every live container, in parallel; sidecars in their turn."""
    live = [seen for seen in record.containers if seen.state in LIVE]
    after = turns(record.pod, live) if record.pod is not None and record.pod.init_containers else {}
    return tuple(
        kill_of(record, policy, now, seen, grace_s, f"Stopping container {seen.name}", after.get(seen.id, ()))
        for seen in live
    )


def turns(pod: Pod, live: Iterable[ContainerSeen]) -> dict[str, tuple[str, ...]]:
    """Per id of a live sidecar those that end before it: regular containers and all later sidecars."""
    ids: dict[str, list[str]] = {}
    for seen in live:
        ids.setdefault(seen.name, []).append(seen.id)
    first = [each for container in pod.containers for each in ids.get(container.name, ())]
    after: dict[str, tuple[str, ...]] = {}
    for container in reversed(pod.init_containers):
        if container.kind is ContainerKind.SIDECAR:
            mine = ids.get(container.name, [])
            after |= dict.fromkeys(mine, tuple(first))
            first += mine
    return after


def note_kills(record: Record, kills: Iterable[KillContainer], now: float) -> None:
    """Remember when the grace of these orders ends. What rounding takes from a repeated order is no new end."""
    if (ending := record.ending) is not None:
        ordered = now + ending.grace_s
        ending.until = ordered if ending.until is None else min(ending.until, ordered)
    for kill in kills:
        ordered, until = now + kill.grace_s, record.kill_until.get(kill.id)
        if until is None or ordered <= until - 1.0:
            record.kill_until[kill.id] = ordered


def _hook(pod: Pod | None, seen: ContainerSeen) -> Body | None:
    """The preStop hook of the spec; of a container that no spec knows the one that it carries itself."""
    containers = pod.every_container if pod is not None else ()
    for container in containers:
        if container.name == seen.name:
            hook: Body | None = (container.body.get("lifecycle") or {}).get("preStop")
            return hook
    return _carried_hook(seen.annotations.get(keys.CONTAINER_PRE_STOP_HANDLER, ""))


def _carried_hook(text: str) -> Body | None:
    """Whatever cannot be read is no hook: the container must stop all the same."""
    try:
        hook = json.loads(text) if text else None
    except ValueError:
        return None
    return hook if isinstance(hook, dict) and hook else None


def _ip(record: Record, policy: Policy) -> str:
    sandbox = record.sandboxes[0] if record.sandboxes else None
    if sandbox is None:
        return ""
    ips = policy.host_ips if sandbox.host_network else sandbox.ips
    return ips[0] if ips else ""
