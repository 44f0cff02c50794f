"""Mounts of a container as the CRI wants them (kubelet behaviour, section 3.11)."""

from cri_api.v1 import api_pb2 as pb

PROPAGATION = {
    "None": pb.PROPAGATION_PRIVATE,
    "HostToContainer": pb.PROPAGATION_HOST_TO_CONTAINER,
    "Bidirectional": pb.PROPAGATION_BIDIRECTIONAL,
}


def mount(
    container_path: str,
    host_path: str,
    readonly: bool = False,
    propagation: str = "None",
    recursive_read_only: bool = False,
) -> pb.Mount:
    """One bind mount; `propagation` is the volume mount's `mountPropagation`.

    recursive_read_only: mounts below are read-only too; only with `readonly` and private propagation (KEP-3857).
    """
    return pb.Mount(
        container_path=container_path,
        host_path=host_path,
        readonly=readonly,
        propagation=PROPAGATION[propagation],
        recursive_read_only=recursive_read_only,
    )


def image_mount(container_path: str, image_ref: str, reference: str, sub_path: str = "") -> pb.Mount:
    """An image's files, or a part of them, mounted by the runtime, always read-only (KEP-4639).

    image_ref: as the runtime resolved it; reference: as the pod names it.
    """
    return pb.Mount(
        container_path=container_path,
        image=pb.ImageSpec(image=image_ref, user_specified_image=reference),
        image_sub_path=sub_path,
        readonly=True,
        propagation=pb.PROPAGATION_PRIVATE,
    )
