"""What the agent was told to do, as one frozen record that travels to every actor (built by agent/config.py)."""

from dataclasses import dataclass
from pathlib import Path

from podherd.model.path_part import path_part

LOCK_FILE = "podherd.lock"
"""In the root directory; held, and written at its start, by the agent that runs there."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settled configuration; durations in seconds. Field sources: KubeletConfiguration v1beta1 and `podherd:`."""

    node_name: str
    root_dir: Path
    runtime_endpoint: str
    """`unix:///path` of the CRI socket (a hollow runtime is already resolved to its socket)."""
    image_endpoint: str = ""
    """CRI socket of the image service; empty: the runtime's."""
    manifests: Path | None = None
    """Directory or single file of static pods (`staticPodPath`)."""
    manifest_url: str = ""
    manifest_url_headers: tuple[tuple[str, str], ...] = ()
    file_check_s: float = 20.0
    http_check_s: float = 20.0
    sync_s: float = 60.0
    relist_s: float = 1.0
    runtime_request_s: float = 120.0
    pod_logs_dir: Path = Path("/var/log/pods")
    cgroup_root: str = "/"
    cgroup_driver: str = "cgroupfs"
    cpu_cfs_quota: bool = True
    """Whether CPU limits are enforced (`cpuCFSQuota`)."""
    cpu_cfs_period_us: int = 100_000
    single_process_oom_kill: bool = False
    """Whether running out of memory kills one process, not the whole container (`singleProcessOOMKill`); on v2."""
    seccomp_default: bool = False
    """Whether a container without a seccomp profile gets the runtime's (`seccompDefault`), not none."""
    hostname_override: str = ""
    cluster_dns: tuple[str, ...] = ()
    cluster_domain: str = ""
    resolv_conf: str = "/etc/resolv.conf"
    crash_loop_max_s: float = 300.0
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    """Names, or prefixes that end in `*`, beside the safe ones (`allowedUnsafeSysctls`)."""
    ids_per_pod: int = 65536
    """Size of a pod's user namespace (`userNamespaces.idsPerPod`)."""
    journal_mb: int = 32
    """Size of each actor's journal, in MiB (`journalMB` of the `podherd:` block); 0: none is kept."""
    pull_qps: float = 5.0
    pull_burst: int = 10
    max_parallel_pulls: int = 1
    """1: serial, as the kubelet's `serializeImagePulls`. Limits of pulls are the node's, all shards together."""
    shards: int = 2
    kubeconfig: Path | None = None
    """Of the API server to serve; None: standalone, unless `in_cluster`."""
    bootstrap_kubeconfig: Path | None = None
    """What may ask for the first client certificate where `kubeconfig` is not there yet."""
    in_cluster: bool = False
    """Whether to use the service account and API server of the pod that the agent runs in."""
    cert_dir: Path | None = None
    """Where certificates are kept; None: `<root>/pki`."""
    rotate_certificates: bool = False
    """Whether to ask for a new client certificate before the old one ends (`rotateCertificates`)."""
    kube_api_qps: float = 50.0
    """Requests a second to the API server, heartbeats apart; 0: no limit (`kubeAPIQPS`)."""
    kube_api_burst: int = 100
    event_qps: float = 50.0
    """Events a second to the API server; 0: no limit (`eventRecordQPS`)."""
    event_burst: int = 100
    register_node: bool = True
    node_labels: tuple[tuple[str, str], ...] = ()
    node_taints: tuple[tuple[str, str, str], ...] = ()
    """Key, value, effect of each taint that a new Node object gets (`registerWithTaints`)."""
    node_ips: tuple[str, ...] = ()
    """The node's addresses (`--node-ip`); empty: found on this machine."""
    provider_id: str = ""
    port: int = 10250
    """Where the kubelet API listens; told as the node's daemonEndpoints."""
    max_pods: int = 0
    """Capacity for pods (`maxPods`); 0: 110 as the kubelet where an API server is served, else 10 000."""
    pods_per_core: int = 0
    kube_reserved: tuple[tuple[str, str], ...] = ()
    system_reserved: tuple[tuple[str, str], ...] = ()
    eviction_hard: tuple[tuple[str, str], ...] = ()
    """Signal and threshold; empty: the kubelet's defaults (kubelet behaviour, section 8.1)."""
    node_status_update_s: float = 10.0
    node_status_report_s: float = 300.0
    node_lease_s: int = 40
    """Duration of the node's Lease; it is renewed every quarter of it."""
    node_status_max_images: int = 50
    """How many images the node's status lists; -1: all."""
    controller_attach_detach: bool = True
    shutdown_grace_s: float = 0.0
    shutdown_grace_critical_s: float = 0.0
    shutdown_grace_by_priority: tuple[tuple[int, float], ...] = ()
    """Priority, and seconds for pods of at least that priority (`shutdownGracePeriodByPodPriority`)."""
    credential_config: Path | None = None
    """CredentialProviderConfig of image credential plugins (`--image-credential-provider-config`)."""
    credential_bin_dir: Path | None = None
    pull_verification: str = "NeverVerifyPreloadedImages"
    """When a pod must show credentials for an image that is there (`imagePullCredentialsVerificationPolicy`)."""
    pull_allowlist: tuple[str, ...] = ()
    """Images that need none under NeverVerifyAllowlistedImages (`preloadedImagesVerificationAllowlist`)."""
    object_changes: str = "Watch"
    """How changes of ConfigMaps and Secrets are found: Watch, Cache or Get."""
    drain_on_exit: bool = False
    log_level: str = "info"

    @property
    def admin_socket(self) -> Path:
        """The root-only socket that the command line talks to."""
        return self.root_dir / "podherd.sock"

    @property
    def serves_api(self) -> bool:
        """Whether there is an API server, by whatever way it is found."""
        return self.kubeconfig is not None or self.in_cluster

    @property
    def pki_dir(self) -> Path:
        """Where certificates are kept."""
        return self.cert_dir or self.root_dir / "pki"

    @property
    def pods_capacity(self) -> int:
        """How many pods the node takes."""
        return self.max_pods or (110 if self.serves_api else 10_000)

    def pod_dir(self, uid: str) -> Path:
        """The pod's data directory, `<root>/pods/<uid>` (kubelet behaviour, section 13.2).

        Raises PodherdError for a uid that would lead elsewhere.
        """
        return self.root_dir / "pods" / path_part("pod uid", uid)

    def pod_log_dir(self, namespace: str, name: str, uid: str) -> Path:
        """`<podLogsDir>/<ns>_<name>_<uid>` (kubelet behaviour, section 3.10).

        Raises PodherdError for a word that would lead elsewhere.
        """
        parts = (("pod namespace", namespace), ("pod name", name), ("pod uid", uid))
        return self.pod_logs_dir / "_".join(path_part(what, value) for what, value in parts)
