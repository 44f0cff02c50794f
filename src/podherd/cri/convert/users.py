"""As which user a container runs, and whether it may be root (kubelet behaviour, section 3.11)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert.contexts import own_context, pod_context
from podherd.errors import ContainerConfigError
from podherd.model.pod import Container, Pod


def user_of(pod: Pod, container: Container, image: pb.Image | None) -> tuple[int | None, str]:
    """(uid, "") or (None, name): the container's runAsUser, else the pod's, else the image's user, else root.

    Without `image` an image's user is left to the runtime: (None, "").
    """
    for context in (own_context(container), pod_context(pod)):
        if context.get("runAsUser") is not None:
            return context["runAsUser"], ""
    if image is None:
        return None, ""
    if image.HasField("uid"):
        return image.uid.value, ""
    return (None, image.username) if image.username else (0, "")


def check_non_root(pod: Pod, container: Container, image: pb.Image | None) -> None:
    """Raise ContainerConfigError when `runAsNonRoot` asks for what the user of spec or image breaks."""
    own = own_context(container)
    if not own.get("runAsNonRoot", pod_context(pod).get("runAsNonRoot")):
        return
    about = f'(pod: "{pod.name}_{pod.namespace}({pod.uid})", container: {container.name})'
    from_spec, _ = user_of(pod, container, None)
    uid, name = user_of(pod, container, image)
    if from_spec == 0:
        raise _breaks(f"container's runAsUser breaks non-root policy {about}")
    if from_spec is None and uid == 0:
        raise _breaks(f"container has runAsNonRoot and image will run as root {about}")
    if from_spec is None and image is None:
        text = "container has runAsNonRoot and the image's user is not known yet, cannot verify user is non-root"
        raise _breaks(f"{text} {about}")
    if name:
        text = f"container has runAsNonRoot and image has non-numeric user ({name}), cannot verify user is non-root"
        raise _breaks(f"{text} {about}")


def _breaks(reason: str) -> ContainerConfigError:
    return ContainerConfigError("securityContext.runAsNonRoot", reason, "set runAsUser to a user other than 0")
