"""Mounts of a container as the CRI wants them (kubelet behaviour, section 3.11)."""

from cri_api.v1 import api_pb2 as pb

PROPAGATION = {
    "None": pb.PROPAGATION_PRIVATE,
    "HostToContainer": pb.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": pb.PROPAGATION_BIDIRECTIONAL,
}


def mount(container_path: str, host_path: str, readonly: bool = False, propagation: str = "None") -> pb.Mount:
    """One bind mount; `propagation` is the volume mount's `mountPropagation`."""
    return pb.Mount(
        container_path=container_path,
        host_path=host_path,
        readonly=readonly,
        propagation=PROPAGATION[propagation],
    )
