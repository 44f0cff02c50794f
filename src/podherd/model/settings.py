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
    drain_on_exit: bool = False
    log_level: str = "info"

    @property
    def admin_socket(self) -> Path:
        """The root-only socket that the command line talks to."""
        return self.root_dir / "podherd.sock"

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
