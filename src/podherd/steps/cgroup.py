"""Step 5: the name of the pod's cgroup, under which the runtime puts all containers (kubelet behaviour, section 14.1).

The runtime makes the cgroup; `remove` takes it away again when the pod is cleaned up.
"""

import errno
import os
from functools import cache

from podherd.cgroups.paths import pod_cgroup
from podherd.model.qos import qos_class
from podherd.steps.context import Context

MOUNT = "/sys/fs/cgroup"
QOS_CLASSES = ("BestEffort", "Burstable", "Guaranteed")


class CgroupParent:
    """Pure but for what it leaves in the context."""

    name = "cgroup"

    async def do(self, context: Context) -> None:
        """Set the context's `cgroup_parent`."""
        if context.starts:
            qos = qos_class(context.pod.body)
            context.cgroup_parent = pod_cgroup(
                context.sync.uid, qos, context.tools.cgroup_driver, context.settings.cgroup_root
            )


def remove(context: Context, mount: str = MOUNT) -> None:
    """Remove the pod's cgroup from every hierarchy; one that is not there is fine.

    Without the pod's spec each QoS class is tried. Raises OSError while a process is still in it.
    """
    pod = context.sync.pod
    for qos in (qos_class(pod.body),) if pod is not None else QOS_CLASSES:
        path = pod_cgroup(context.sync.uid, qos, context.tools.cgroup_driver, context.settings.cgroup_root)
        for hierarchy in hierarchies(mount):
            remove_tree(hierarchy + path)


@cache
def hierarchies(mount: str) -> tuple[str, ...]:
    """Where cgroups stand: the one mount of v2, or each controller's directory of v1 and hybrid hosts."""
    if os.path.exists(f"{mount}/cgroup.controllers") or not os.path.isdir(mount):
        return (mount,)
    with os.scandir(mount) as entries:
        return tuple(sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False)))


def remove_tree(path: str) -> None:
    """Remove a cgroup and those below it; one that is not there is fine. Raises OSError while a process is in one."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
            raise
        _remove_children(path)
        os.rmdir(path)


def _remove_children(path: str) -> None:
    """A cgroup with cgroups below it is busy too: a container's own init may have left some."""
    for above, children, _ in os.walk(path, topdown=False):
        for child in children:
            os.rmdir(f"{above}/{child}")
