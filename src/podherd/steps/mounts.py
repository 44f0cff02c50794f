"""The mounts of one container: its volumes and the pod's hosts file (kubelet behaviour, sections 3.11 and 13)."""

from dataclasses import replace

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert import mount
from podherd.cri.convert.mounts import image_mount
from podherd.errors import ContainerConfigError
from podherd.machines.pod.events import StartFailed
from podherd.machines.pod.instructions import StartContainer
from podherd.model.pod import Body, Container
from podherd.steps import hosts, images, runtime_features
from podherd.steps.context import Context
from podherd.steps.files import write
from podherd.steps.runtime_class import handler_of
from podherd.steps.sub_path import sub_path_of
from podherd.volumes.errors import VolumeError
from podherd.volumes.propagation import make_shared
from podherd.volumes.ready import Ready
from podherd.volumes.subpaths import bind_part, target_of


async def of(context: Context, container: Container, start: StartContainer) -> list[pb.Mount] | StartFailed:
    """The mounts in the order of the spec, then the hosts file, which is written here; or why an image is not there.

    Raises PodherdError for a mount that cannot be given, OSError when the file cannot be made.
    """
    wanted: list[Body] = container.body.get("volumeMounts") or []
    mounts: list[pb.Mount] = []
    for index, one in enumerate(wanted):
        ready = _volume(context, one)
        if ready.image:
            made = await _image_mount(context, container, start, one, ready)
            if isinstance(made, StartFailed):
                return made
        else:
            made = await _volume_mount(context, container, index, one, ready)
        mounts.append(made)
    if all(one["mountPath"] != hosts.CONTAINER_PATH for one in wanted):
        mounts.extend(_hosts_mount(context))
    return mounts


def _volume(context: Context, wanted: Body) -> Ready:
    name = wanted["name"]
    if (ready := context.volumes.get(name)) is None:
        reason = f'volume "{name}" is not in the pod\'s spec.volumes'
        raise ContainerConfigError(f"volumeMount {wanted['mountPath']}", reason)
    return ready


async def _volume_mount(context: Context, container: Container, index: int, wanted: Body, ready: Ready) -> pb.Mount:
    path, propagation = ready.path, wanted.get("mountPropagation") or "None"
    if propagation != "None" and path.startswith(f"{context.pod_dir}/"):
        await context.in_thread(make_shared, path)
    if part := await sub_path_of(context, container, wanted):
        target = target_of(context.pod_dir, wanted["name"], container.name, index)
        try:
            path = await context.in_thread(bind_part, path, part, target)
        except VolumeError as error:
            raise _no_part(container, wanted, error) from error
    recursive = (wanted.get("recursiveReadOnly") or "Disabled") != "Disabled" and await _recursive(context, wanted)
    read_only = ready.read_only or bool(wanted.get("readOnly"))
    return mount(_absolute(wanted["mountPath"]), path, read_only, propagation, recursive)


def _no_part(container: Container, wanted: Body, error: VolumeError) -> VolumeError:
    """The kubelet's sentence, which ends before the colon: what it hides is no more than the volume itself shows."""
    said = f'failed to prepare subPath for volumeMount "{wanted["name"]}" of container "{container.name}"'
    return VolumeError(error.thing, error.reason, error.mend, f"{said}: {error.reason}")


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"/{path}"


async def _recursive(context: Context, wanted: Body) -> bool:
    """Whether to ask for recursive read-only; IfPossible leaves that to the runtime's handler (KEP-3857)."""
    thing = f"volumeMount {wanted['mountPath']}"
    if not wanted.get("readOnly") or wanted.get("mountPropagation", "None") != "None":
        reason = "recursiveReadOnly needs readOnly: true and no mountPropagation"
        raise ContainerConfigError(thing, reason)
    able = handler_of(context) in await runtime_features.recursive_read_only(context.cri)
    if not able and wanted["recursiveReadOnly"] == "Enabled":
        reason = f'volume "{wanted["name"]}" requested recursive read-only mode, but it is not supported by the runtime'
        raise ContainerConfigError(thing, reason, "use IfPossible, or a newer runtime on Linux 5.12 or later")
    return able


async def _image_mount(
    context: Context, container: Container, start: StartContainer, wanted: Body, ready: Ready
) -> pb.Mount | StartFailed:
    """The image is pulled by the volume's policy, as a container's is; what fails is this container's to wait for."""
    part = await sub_path_of(context, container, wanted)
    reason, mend = await runtime_features.lacks_images(context.cri, bool(part))
    if reason:
        raise ContainerConfigError(f'image volume "{wanted["name"]}"', reason, mend)
    as_container = replace(container, image=ready.image, image_pull_policy=ready.pull_policy)
    present = await images.ensure(context, as_container, _start_with(ready.image, container, start), "")
    if isinstance(present, StartFailed):
        return replace(present, image=ready.image)
    return image_mount(_absolute(wanted["mountPath"]), present.ref, ready.image, part)


def _start_with(image: str, container: Container, start: StartContainer) -> StartContainer:
    """The start as it stands for a volume's image: each image has a back-off of its own."""
    if image == container.image:
        return start
    held = dict(start.held)
    return replace(start, pull_allowed=image not in held, back_off=held.get(image, ""))


def _hosts_mount(context: Context) -> list[pb.Mount]:
    """Nothing for a pod that has neither an address nor the host's network. The file is written once a sync."""
    if not context.hosts_path and (context.pod_ips or context.pod.host_network):
        path = f"{context.pod_dir}/etc-hosts"
        write(path, _hosts_content(context), 0o644)
        context.hosts_path = path
    return [mount(hosts.CONTAINER_PATH, context.hosts_path)] if context.hosts_path else []


def _hosts_content(context: Context) -> bytes:
    pod = context.pod
    if pod.host_network:
        return hosts.host_content(pod)
    return hosts.content(pod, context.pod_ips, context.settings)
