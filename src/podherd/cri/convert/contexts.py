"""Where security contexts stand in a pod."""

from podherd.model.pod import Body, Container, Pod


def pod_context(pod: Pod) -> Body:
    """The pod's v1.PodSecurityContext; empty when it has none."""
    return pod.body["spec"].get("securityContext") or {}


def own_context(container: Container) -> Body:
    """The container's v1.SecurityContext; empty when it has none."""
    return container.body.get("securityContext") or {}
