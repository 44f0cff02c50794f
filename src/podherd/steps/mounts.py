"""The mounts of one container: its volumes and the pod's hosts file (kubelet behaviour, sections 3.11 and 13)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert import mount
from podherd.cri.convert.dns import short_hostname
from podherd.errors import ContainerConfigError
from podherd.model.pod import Body, Container
from podherd.steps import hosts
from podherd.steps.context import Context
from podherd.steps.files import write


def of(context: Context, container: Container) -> list[pb.Mount]:
    """The mounts in the order of the spec, then the hosts file, which is written here.

    Raises ContainerConfigError for a mount that cannot be given, OSError when the file cannot be made.
    """
    wanted: list[Body] = container.body.get("volumeMounts") or []
    mounts = [_volume_mount(context, volume_mount) for volume_mount in wanted]
    if all(volume_mount["mountPath"] != hosts.CONTAINER_PATH for volume_mount in wanted):
        mounts.extend(_hosts_mount(context))
    return mounts


def _volume_mount(context: Context, wanted: Body) -> pb.Mount:
    name, path = wanted["name"], wanted["mountPath"]
    if (host_path := context.volumes.get(name)) is None:
        raise ContainerConfigError(f"volumeMount {path}", f'volume "{name}" is not in the pod\'s spec.volumes')
    if wanted.get("subPath") or wanted.get("subPathExpr"):
        raise ContainerConfigError(f"volumeMount {path}", "subPath is not supported", "mount the whole volume")
    container_path = path if path.startswith("/") else f"/{path}"
    return mount(container_path, host_path, bool(wanted.get("readOnly")), wanted.get("mountPropagation") or "None")


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
    hostname = short_hostname(pod.body["spec"].get("hostname") or pod.name)
    return hosts.content(pod, context.pod_ips, hostname, context.settings)
