"""Dead containers and sandboxes that a pod has no more use for (kubelet behaviour, sections 2.1 and 3.2)."""

from podherd.machines.pod.record import CREATED, LIVE, Record
from podherd.wire.observed import ContainerSeen


def leftovers(record: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Ids of containers and of sandboxes to remove.

    Kept per name: the newest instance and the newest dead one (its logs, exit code and end time), and each sandbox that
    holds one of them or is the newest. So the proof of a completed run stays (case SYNC-3).
    """
    if len(record.sandboxes) <= 1 and len(record.containers) <= len(record.newest):
        return (), ()
    kept = _kept(record)
    ids = {container.id for container in kept}
    homes = {container.sandbox_id for container in kept}
    containers = tuple(c.id for c in record.containers if c.id not in ids)
    return containers, tuple(s.id for s in record.sandboxes[1:] if not s.ready and s.id not in homes)


def _kept(record: Record) -> list[ContainerSeen]:
    names: set[str] = set()
    dead: set[str] = set()
    kept = []
    for seen in record.containers:
        newest = seen.name not in names
        names.add(seen.name)
        if seen.state in LIVE or (seen.state == CREATED and newest):
            kept.append(seen)
        elif seen.state != CREATED and seen.name not in dead:
            dead.add(seen.name)
            kept.append(seen)
    return kept
