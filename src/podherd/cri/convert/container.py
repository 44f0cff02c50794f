"""A container of a pod's spec as CreateContainer wants it (kubelet behaviour, sections 3.9 to 3.12)."""

from collections.abc import Iterable, Sequence

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert.env_file import ReadFile
from podherd.cri.convert.environment import environment
from podherd.cri.convert.host import Host
from podherd.cri.convert.labels import container_annotations, container_labels
from podherd.cri.convert.mounts import mount
from podherd.cri.convert.namespaces import namespaces, target_of
from podherd.cri.convert.resources import container_resources
from podherd.cri.convert.security import container_security
from podherd.errors import ContainerConfigError
from podherd.machines.objects.found import Lookup, nowhere
from podherd.model.expand import expand
from podherd.model.pod import Container, Pod
from podherd.model.settings import Settings


def container_config(
    pod: Pod,
    container: Container,
    attempt: int,
    image_ref: str,
    settings: Settings,
    *,
    host: Host,
    pod_ips: Sequence[str] = (),
    mounts: Sequence[pb.Mount] = (),
    termination_log: str = "",
    image: pb.Image | None = None,
    services: Iterable[tuple[str, str]] = (),
    target_id: str = "",
    userns: pb.UserNamespace | None = None,
    read_file: ReadFile | None = None,
    look: Lookup = nowhere,
) -> pb.ContainerConfig:
    """The CRI config of one attempt. Raises ContainerConfigError for what this node cannot do.

    image_ref: as the runtime resolved it. image: its ImageStatus, whose user decides where the spec names none.
    mounts: those of volumes and /etc/hosts. termination_log: host file to mount at terminationMessagePath, empty for
    none. services: service variables. target_id: the container whose processes an ephemeral container joins.
    userns: the mapping of a pod with `hostUsers: false`. read_file: for variables from files (`fileKeyRef`).
    look: for variables from ConfigMaps and Secrets.
    """
    config = _of_spec(pod, container, attempt)
    config.image.image = image_ref
    variables = environment(pod, container, host, tuple(pod_ips), services, read_file, look)
    config.command.extend(expand(word, variables) for word in container.body.get("command") or ())
    config.args.extend(expand(word, variables) for word in container.body.get("args") or ())
    config.envs.extend(pb.KeyValue(key=name, value=value) for name, value in variables.items())
    config.mounts.extend(_mounts(container, mounts, termination_log, userns))
    options = namespaces(pod, target_of(pod, container, target_id), userns)
    security = container_security(pod, container, settings, host, image, options)
    config.linux.security_context.CopyFrom(security)
    config.linux.resources.CopyFrom(container_resources(pod, container, settings, host))
    return config


def _of_spec(pod: Pod, container: Container, attempt: int) -> pb.ContainerConfig:
    """What the spec alone says."""
    body = container.body
    if body.get("volumeDevices"):
        raise ContainerConfigError(f"volumeDevices of container {container.name}", "block volumes are not supported")
    return pb.ContainerConfig(
        metadata=pb.ContainerMetadata(name=container.name, attempt=attempt),
        image=pb.ImageSpec(user_specified_image=container.image),
        working_dir=body.get("workingDir") or "",
        labels=container_labels(pod, container),
        annotations=container_annotations(pod, container, attempt),
        log_path=log_path(container.name, attempt),
        stdin=body.get("stdin") or False,
        stdin_once=body.get("stdinOnce") or False,
        tty=body.get("tty") or False,
        stop_signal=_stop_signal(container),
    )


def log_path(name: str, attempt: int) -> str:
    """The log file of one attempt, relative to the pod's log directory (kubelet behaviour, section 3.10)."""
    return f"{name}/{attempt}.log"


def _mounts(
    container: Container, mounts: Sequence[pb.Mount], termination_log: str, userns: pb.UserNamespace | None
) -> list[pb.Mount]:
    """With the pod's own users every mount is seen through their mapping, so that files keep their owners."""
    path = container.body.get("terminationMessagePath")
    every = [*mounts, mount(path, termination_log)] if path and termination_log else list(mounts)
    if userns is not None:
        for one in every:
            one.uidMappings.extend(userns.uids)
            one.gidMappings.extend(userns.gids)
    return every


def _stop_signal(container: Container) -> pb.Signal.ValueType:
    """`lifecycle.stopSignal`; without one the runtime takes the image's."""
    name = (container.body.get("lifecycle") or {}).get("stopSignal")
    if not name:
        return pb.RUNTIME_DEFAULT
    try:
        return pb.Signal.Value(name)
    except ValueError as error:
        about = f"lifecycle of container {container.name}"
        raise ContainerConfigError(about, f"unknown stopSignal {name!r:.80}") from error
