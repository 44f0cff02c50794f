"""Who may read a token: the pod's group, or the one user that all its containers run as (kubelet behaviour, 13.3)."""

from podherd.cri.convert.contexts import own_context, pod_context
from podherd.model.pod import Pod
from podherd.volumes.ready import Site

PRIVATE = 0o600


def private_mode(site: Site, default_mode: int) -> int:
    """0600 where there is a group or a user to give the file to, else as the volume says; the group reads it too."""
    return PRIVATE if site.group is not None or private_user(site.pod) is not None else default_mode


def private_user(pod: Pod) -> int | None:
    """The runAsUser that every init and regular container has; None when they differ or one has none."""
    whole = pod_context(pod).get("runAsUser")
    users = {own_context(each).get("runAsUser", whole) for each in (*pod.init_containers, *pod.containers)}
    return users.pop() if len(users) == 1 else None
