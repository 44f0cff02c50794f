"""securityContext of pod and container as the CRI's (kubelet behaviour, section 3.11)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert.contexts import own_context, pod_context
from podherd.cri.convert.host import Host
from podherd.cri.convert.users import check_non_root, user_of
from podherd.errors import ContainerConfigError
from podherd.model.pod import Body, Container, Pod
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


def is_privileged(pod: Pod) -> bool:
    """Whether any container of any kind is: then the sandbox must be so too."""
    return any(own_context(container).get("privileged") for container in pod.every_container)


def groups_of(pod: Pod) -> list[int]:
    """fsGroup, then supplementalGroups, each once."""
    context = pod_context(pod)
    own = [context["fsGroup"]] if context.get("fsGroup") is not None else []
    return list(dict.fromkeys([*own, *(context.get("supplementalGroups") or ())]))


def groups_policy(pod: Pod) -> pb.SupplementalGroupsPolicy.ValueType:
    """Merge the image's groups (the default) or take only the spec's (Strict, KEP-3619)."""
    return pb.Strict if wants_strict_groups(pod) else pb.Merge


def wants_strict_groups(pod: Pod) -> bool:
    """Whether the image's groups are to be left out."""
    return pod_context(pod).get("supplementalGroupsPolicy") == "Strict"


def check_strict_groups(features: pb.RuntimeFeatures) -> None:
    """Raise ContainerConfigError for a runtime that would pass over Strict: processes would be in groups too many."""
    if not features.supplemental_groups_policy:
        reason = "SupplementalGroupsPolicy=Strict is not supported in this node"
        raise ContainerConfigError("spec.securityContext.supplementalGroupsPolicy", reason, "use a newer runtime")


def selinux(options: Body | None) -> pb.SELinuxOption | None:
    """The four parts of a label, as given."""
    return pb.SELinuxOption(**{part: options.get(part) or "" for part in _SELINUX}) if options else None


_SELINUX = ("user", "role", "type", "level")


def profile(wanted: Body, localhost_prefix: str = "") -> pb.SecurityProfile:
    """A v1.SeccompProfile or v1.AppArmorProfile. Raises ContainerConfigError for one that cannot be meant."""
    kind, name = wanted["type"], wanted.get("localhostProfile") or ""
    if kind not in _PROFILES:
        raise ContainerConfigError("securityContext", f"unknown type of profile {kind!r:.80}")
    if kind != "Localhost":
        return pb.SecurityProfile(profile_type=_PROFILES[kind])
    if not name:
        raise ContainerConfigError("securityContext", "localhostProfile must be set if the profile's type is Localhost")
    return pb.SecurityProfile(profile_type=pb.SecurityProfile.Localhost, localhost_ref=localhost_prefix + name)


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


def container_security(
    pod: Pod,
    container: Container,
    settings: Settings,
    host: Host,
    image: pb.Image | None,
    options: pb.NamespaceOption,
) -> pb.LinuxContainerSecurityContext:
    """The whole context of one container. Raises ContainerConfigError."""
    check_non_root(pod, container, image)
    own, whole = own_context(container), pod_context(pod)
    context = pb.LinuxContainerSecurityContext(
        privileged=own.get("privileged") or False,
        readonly_rootfs=own.get("readOnlyRootFilesystem") or False,
        no_new_privs=own.get("allowPrivilegeEscalation") is False,
        namespace_options=options,
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
