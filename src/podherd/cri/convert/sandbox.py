"""A pod as RunPodSandbox wants it (kubelet behaviour, sections 3.9 to 3.11)."""

from cri_api.v1 import api_pb2 as pb

from podherd.cri.convert.contexts import pod_context
from podherd.cri.convert.dns import hostname_of, resolver_of
from podherd.cri.convert.host import Host
from podherd.cri.convert.labels import sandbox_labels
from podherd.cri.convert.namespaces import namespaces
from podherd.cri.convert.resources import sandbox_overhead, sandbox_resources
from podherd.cri.convert.security import groups_of, groups_policy, is_privileged, selinux
from podherd.errors import ContainerConfigError
from podherd.model.pod import Pod
from podherd.model.settings import Settings
from podherd.model.sysctls import FORBIDDEN, dotted, forbidden

_PROTOCOLS = {"TCP": pb.TCP, "UDP": pb.UDP, "SCTP": pb.SCTP}


def sandbox_config(
    pod: Pod,
    attempt: int,
    settings: Settings,
    cgroup_parent: str = "",
    *,
    host: Host,
    userns: pb.UserNamespace | None = None,
) -> pb.PodSandboxConfig:
    """The CRI config of one sandbox. Raises ContainerConfigError for what this node cannot do.

    cgroup_parent: the pod's cgroup, such as `/kubepods/burstable/pod<uid>`; empty leaves it to the runtime.
    userns: the mapping of a pod with `hostUsers: false`.
    """
    lines = resolver_of(pod, settings, host)
    return pb.PodSandboxConfig(
        metadata=pb.PodSandboxMetadata(name=pod.name, namespace=pod.namespace, uid=pod.uid, attempt=attempt),
        hostname=hostname_of(pod, settings),
        log_directory=str(settings.pod_log_dir(pod.namespace, pod.name, pod.uid)),
        dns_config=pb.DNSConfig(servers=lines.servers, searches=lines.searches, options=lines.options),
        port_mappings=_ports(pod),
        labels=sandbox_labels(pod),
        annotations=pod.annotations,
        linux=pb.LinuxPodSandboxConfig(
            cgroup_parent=cgroup_parent,
            security_context=_security(pod, userns),
            sysctls=_sysctls(pod, settings, host),
            overhead=sandbox_overhead(pod, settings),
            resources=sandbox_resources(pod, settings),
        ),
    )


def _ports(pod: Pod) -> list[pb.PortMapping]:
    """Every port of the regular containers; one without a host port is for information only."""
    return [
        pb.PortMapping(
            protocol=_protocol(port.get("protocol") or "TCP"),
            container_port=port["containerPort"],
            host_port=port.get("hostPort") or 0,
            host_ip=port.get("hostIP") or "",
        )
        for container in pod.containers
        for port in container.body.get("ports") or ()
    ]


def _protocol(name: str) -> pb.Protocol.ValueType:
    if name not in _PROTOCOLS:
        raise ContainerConfigError("ports.protocol", f"unknown protocol {name!r:.80}", "use TCP, UDP or SCTP")
    return _PROTOCOLS[name]


def _sysctls(pod: Pod, settings: Settings, host: Host) -> dict[str, str]:
    """Dotted names and values. Raises ContainerConfigError for one that pods may not set on this node."""
    if not (wanted := pod_context(pod).get("sysctls")):
        return {}
    if why := forbidden(pod.body["spec"], settings.allowed_unsafe_sysctls, host.kernel):
        mend = "leave it out, or name it in allowedUnsafeSysctls of the agent's configuration"
        raise ContainerConfigError("spec.securityContext.sysctls", f"{FORBIDDEN}: {why}", mend)
    return {dotted(sysctl["name"]): sysctl["value"] for sysctl in wanted}


def _security(pod: Pod, userns: pb.UserNamespace | None) -> pb.LinuxSandboxSecurityContext:
    """The pod's context for the sandbox process, whose seccomp profile is always the runtime's default."""
    context = pod_context(pod)
    security = pb.LinuxSandboxSecurityContext(
        namespace_options=namespaces(pod, userns=userns),
        selinux_options=selinux(context.get("seLinuxOptions")),
        supplemental_groups=groups_of(pod),
        supplemental_groups_policy=groups_policy(pod),
        privileged=is_privileged(pod),
        seccomp=pb.SecurityProfile(profile_type=pb.SecurityProfile.RuntimeDefault),
    )
    if context.get("runAsUser") is not None:
        security.run_as_user.value = context["runAsUser"]
    if context.get("runAsGroup") is not None:
        security.run_as_group.value = context["runAsGroup"]
    return security
