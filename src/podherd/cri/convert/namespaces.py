"""Which Linux namespaces are the host's, the pod's or a container's own (kubelet behaviour, section 3.11)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert.userns import wanted
from podherd.errors import ContainerConfigError
from podherd.model.pod import Container, ContainerKind, Pod


def namespaces(pod: Pod, target_id: str = "", userns: pb.UserNamespace | None = None) -> pb.NamespaceOption:
    """The options of the sandbox and of every container.

    target_id: whose processes an ephemeral container shares where containers do not see each other's anyway.
    userns: the mapping of a pod with `hostUsers: false`; without one such a pod is a ContainerConfigError.
    """
    if wanted(pod) and userns is None:
        raise ContainerConfigError("spec.hostUsers", "no ids were given to this pod's user namespace")
    pid = _pid(pod, target_id)
    return pb.NamespaceOption(
        network=pb.NODE if pod.host_network else pb.POD,
        ipc=pb.NODE if pod.body["spec"].get("hostIPC") else pb.POD,
        pid=pid,
        target_id=target_id if pid == pb.TARGET else "",
        userns_options=userns,
    )


def _pid(pod: Pod, target_id: str) -> pb.NamespaceMode.ValueType:
    spec = pod.body["spec"]
    if spec.get("hostPID"):
        return pb.NODE
    if spec.get("shareProcessNamespace"):
        return pb.POD
    return pb.TARGET if target_id else pb.CONTAINER


def target_of(pod: Pod, container: Container, target_id: str) -> str:
    """The id whose processes an ephemeral container sees, empty for none; a named target must have been found."""
    name = container.target if container.kind is ContainerKind.EPHEMERAL else ""
    if name and not target_id:
        raise ContainerConfigError("targetContainerName", f'unable to find target container "{name}" in pod {pod.key}')
    return target_id if name else ""
