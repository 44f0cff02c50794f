"""Init containers and sidecars: what has begun, what is done (kubelet behaviour, section 3.3)."""

from podherd.machines.pod.record import CREATED, EXITED, RUNNING, Record
from podherd.model.pod import Container, ContainerKind, Pod
from podherd.wire.observed import ContainerSeen

OOM_KILLED = "OOMKilled"


def initialised(record: Record, pod: Pod) -> bool:
    """Whether the init containers have done their part in the newest sandbox; they never run in it again.

    An app container that was started there proves it, also when no record of the init containers is left, and when a
    later instance of it is made and has not begun.
    """
    if not pod.init_containers:
        return True
    if any(_began_here(record, container) for container in pod.containers):
        return True
    return init_done(record, pod.init_containers[-1])


def init_done(record: Record, container: Container) -> bool:
    """Whether the next init container may follow: a sidecar has started, a plain one ended well."""
    seen = here(record, container)
    if container.kind is ContainerKind.SIDECAR:
        return seen is not None and started(record, container)
    return seen is not None and seen.state == EXITED and not failed(seen)


def failed(seen: ContainerSeen) -> bool:
    """Whether an instance that ended did so badly; a kill for lack of memory is one whatever the code says."""
    return seen.exit_code != 0 or seen.reason == OOM_KILLED


def started(record: Record, container: Container) -> bool:
    """Whether it runs and counts as started; its postStart hook is done, since the sync that starts it waits for that.

    The one place that will ask for its startup probe too.
    """
    seen = record.newest.get(container.name)
    return seen is not None and seen.state == RUNNING


def here(record: Record, container: Container) -> ContainerSeen | None:
    """The newest instance if it belongs to the newest sandbox: init state is of one sandbox (case SYNC-1)."""
    seen = record.newest.get(container.name)
    if seen is None or not record.sandboxes or seen.sandbox_id != record.sandboxes[0].id:
        return None
    return seen


def _began_here(record: Record, container: Container) -> bool:
    """Whether some instance ran in the newest sandbox: the newest, which may be remembered, or one still held."""
    if (seen := here(record, container)) is not None and seen.state != CREATED:
        return True
    home = record.sandboxes[0].id if record.sandboxes else None
    return any(
        each.name == container.name and each.sandbox_id == home and each.state != CREATED for each in record.containers
    )
