"""securityContext of pod and container as the CRI's (kubelet behaviour, section 3.11)."""

from typing import Any

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert.host import Host
from podherd.errors import ContainerConfigError
from podherd.model.pod import Body, Container, ContainerKind, Pod
from podherd.model.settings import Settings

APPARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/"
MASKED = (
    "/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
    "/sys/devices/virtual/powercap",
)  # fmt: skip
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_PROFILES = {
    "RuntimeDefault": pb.SecurityProfile.RuntimeDefault,
    "Unconfined": pb.SecurityProfile.Unconfined,
    "Localhost": pb.SecurityProfile.Localhost,
}


def pod_context(pod: Pod) -> Body:
    """The pod's v1.PodSecurityContext; empty when it has none."""
    return pod.body["spec"].get("securityContext") or {}


def own_context(container: Container) -> Body:
    """The container's v1.SecurityContext; empty when it has none."""
    return container.body.get("securityContext") or {}


def is_privileged(pod: Pod) -> bool:
    """Whether any container is: then the sandbox must be so too."""
    return any(own_context(container).get("privileged") for container in (*pod.init_containers, *pod.containers))


def namespaces(pod: Pod, target_id: str = "") -> pb.NamespaceOption:
    """Which Linux namespaces are the host's, the pod's or a container's own. target_id: whose processes to share."""
    spec = pod.body["spec"]
    if spec.get("hostUsers") is False:
        raise ContainerConfigError("spec.hostUsers", "user namespaces are not supported on this node", "leave it out")
    pid = pb.CONTAINER
    if spec.get("hostPID"):
        pid = pb.NODE
    elif target_id:
        pid = pb.TARGET
    elif spec.get("shareProcessNamespace"):
        pid = pb.POD
    return pb.NamespaceOption(
        network=pb.NODE if pod.host_network else pb.POD,
        ipc=pb.NODE if spec.get("hostIPC") else pb.POD,
        pid=pid,
        target_id=target_id,
    )


def groups_of(pod: Pod) -> list[int]:
    """fsGroup, then supplementalGroups, each once."""
    context = pod_context(pod)
    own = [context["fsGroup"]] if context.get("fsGroup") is not None else []
    return list(dict.fromkeys([*own, *(context.get("supplementalGroups") or ())]))


def groups_policy(pod: Pod) -> pb.SupplementalGroupsPolicy.ValueType:
    """Merge the image's groups (the default) or take only the spec's."""
    return pb.Strict if pod_context(pod).get("supplementalGroupsPolicy") == "Strict" else pb.Merge


def selinux(options: Body | None) -> pb.SELinuxOption | None:
    """The four parts of a label, as given."""
    return pb.SELinuxOption(**{part: options.get(part) or "" for part in _SELINUX}) if options else None


_SELINUX = ("user", "role", "type", "level")


def profile(wanted: Body, localhost_prefix: str = "") -> pb.SecurityProfile:
    """A v1.SeccompProfile or v1.AppArmorProfile."""
    kind = wanted["type"]
    reference = localhost_prefix + wanted["localhostProfile"] if kind == "Localhost" else ""
    return pb.SecurityProfile(profile_type=_PROFILES[kind], localhost_ref=reference)


def seccomp_of(pod: Pod, container: Container, settings: Settings) -> pb.SecurityProfile:
    """The container's profile, else the pod's, else the node's default; local files lie in `<root>/seccomp/`."""
    wanted = own_context(container).get("seccompProfile") or pod_context(pod).get("seccompProfile")
    default = {"type": "RuntimeDefault" if settings.seccomp_default else "Unconfined"}
    return profile(wanted or default, f"{settings.root_dir}/seccomp/")


def apparmor_of(pod: Pod, container: Container) -> pb.SecurityProfile | None:
    """The container's profile, else its old annotation, else the pod's; None leaves it to the runtime."""
    if wanted := own_context(container).get("appArmorProfile"):
        return profile(wanted)
    if noted := pod.annotations.get(APPARMOR_ANNOTATION + container.name):
        kind, _, name = noted.partition("/")
        named = {"runtime": "RuntimeDefault", "unconfined": "Unconfined", "localhost": "Localhost"}
        if kind not in named:
            raise ContainerConfigError(APPARMOR_ANNOTATION + container.name, f"unknown profile {noted!r}")
        return profile({"type": named[kind], "localhostProfile": name})
    wanted = pod_context(pod).get("appArmorProfile")
    return profile(wanted) if wanted else None


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


def container_security(
    pod: Pod, container: Container, settings: Settings, host: Host, image: pb.Image | None, target_id: str
) -> pb.LinuxContainerSecurityContext:
    """The whole context of one container. Raises ContainerConfigError."""
    check_non_root(pod, container, image)
    own, whole = own_context(container), pod_context(pod)
    context = pb.LinuxContainerSecurityContext(
        privileged=own.get("privileged") or False,
        readonly_rootfs=own.get("readOnlyRootFilesystem") or False,
        no_new_privs=own.get("allowPrivilegeEscalation") is False,
        namespace_options=namespaces(pod, _target(pod, container, target_id)),
        supplemental_groups=groups_of(pod),
        supplemental_groups_policy=groups_policy(pod),
        capabilities=_capabilities(own.get("capabilities")),
        selinux_options=selinux(own.get("seLinuxOptions") or whole.get("seLinuxOptions")),
        seccomp=seccomp_of(pod, container, settings),
        apparmor=apparmor_of(pod, container),
    )
    if own.get("procMount") != "Unmasked":
        context.masked_paths.extend((*MASKED, *host.thermal_paths))
        context.readonly_paths.extend(READ_ONLY)
    _set_user(context, pod, container, image)
    return context


def _set_user(
    context: pb.LinuxContainerSecurityContext, pod: Pod, container: Container, image: pb.Image | None
) -> None:
    uid, context.run_as_username = user_of(pod, container, image)
    if uid is not None:
        context.run_as_user.value = uid
    group = own_context(container).get("runAsGroup", pod_context(pod).get("runAsGroup"))
    if group is not None:
        context.run_as_group.value = group


def _capabilities(wanted: Body | None) -> pb.Capability | None:
    if not wanted:
        return None
    return pb.Capability(add_capabilities=wanted.get("add") or (), drop_capabilities=wanted.get("drop") or ())


def _target(pod: Pod, container: Container, target_id: str) -> str:
    """The container whose processes an ephemeral one sees; a named target must have been found."""
    name: Any = container.body.get("targetContainerName") if container.kind is ContainerKind.EPHEMERAL else None
    if name and not target_id:
        raise ContainerConfigError("targetContainerName", f'unable to find target container "{name}" in pod {pod.key}')
    return target_id if name else ""
