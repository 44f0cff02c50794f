"""The fields of a configuration file: those acted on with their setting, and the other known ones.

KubeletConfiguration of kubelet.config.k8s.io/v1beta1, as of Kubernetes v1.37 (kubelet behaviour, section 16.1), and
podherd's own block `podherd:`. To act on one more field, move it from KNOWN to ACTED.
"""

from podherd.agent.config_node import by_priority, grace_s, lease_s, reserved, taints
from podherd.agent.config_values import (
    Convert,
    duration_s,
    endpoint,
    flag,
    headers,
    ids_per_pod,
    image_patterns,
    one_of,
    path,
    period_s,
    period_us,
    sysctls,
    text,
    texts,
    url,
    whole,
)

PULL_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify")

ACTED: dict[str, tuple[str, Convert]] = {
    "staticPodPath": ("manifests", path),
    "staticPodURL": ("manifest_url", url),
    "staticPodURLHeader": ("manifest_url_headers", headers),
    "fileCheckFrequency": ("file_check_s", period_s(20)),
    "httpCheckFrequency": ("http_check_s", period_s(20)),
    "syncFrequency": ("sync_s", period_s(60)),
    "runtimeRequestTimeout": ("runtime_request_s", period_s(120)),
    "containerRuntimeEndpoint": ("runtime_endpoint", endpoint),
    "imageServiceEndpoint": ("image_endpoint", endpoint),
    "podLogsDir": ("pod_logs_dir", path),
    "cgroupRoot": ("cgroup_root", text),
    "cgroupDriver": ("cgroup_driver", one_of("cgroupfs", "systemd")),
    "cpuCFSQuota": ("cpu_cfs_quota", flag),
    "cpuCFSQuotaPeriod": ("cpu_cfs_period_us", period_us),
    "seccompDefault": ("seccomp_default", flag),
    "allowedUnsafeSysctls": ("allowed_unsafe_sysctls", sysctls),
    "singleProcessOOMKill": ("single_process_oom_kill", flag),
    "userNamespaces": ("ids_per_pod", ids_per_pod),
    "clusterDNS": ("cluster_dns", texts),
    "clusterDomain": ("cluster_domain", text),
    "resolvConf": ("resolv_conf", text),
    "registryPullQPS": ("pull_qps", whole(0)),
    "registryBurst": ("pull_burst", whole(1)),
    "kubeAPIQPS": ("kube_api_qps", whole(0)),
    "kubeAPIBurst": ("kube_api_burst", whole(0)),
    "eventRecordQPS": ("event_qps", whole(0)),
    "eventBurst": ("event_burst", whole(0)),
    "rotateCertificates": ("rotate_certificates", flag),
    "registerNode": ("register_node", flag),
    "registerWithTaints": ("node_taints", taints),
    "providerID": ("provider_id", text),
    "port": ("port", whole(1, 65535)),
    "maxPods": ("max_pods", whole(0)),
    "podsPerCore": ("pods_per_core", whole(0)),
    "kubeReserved": ("kube_reserved", reserved),
    "systemReserved": ("system_reserved", reserved),
    "nodeLeaseDurationSeconds": ("node_lease_s", lease_s),
    "nodeStatusMaxImages": ("node_status_max_images", whole(-1)),
    "enableControllerAttachDetach": ("controller_attach_detach", flag),
    "shutdownGracePeriod": ("shutdown_grace_s", grace_s),
    "shutdownGracePeriodCriticalPods": ("shutdown_grace_critical_s", grace_s),
    "shutdownGracePeriodByPodPriority": ("shutdown_grace_by_priority", by_priority),
    "imagePullCredentialsVerificationPolicy": ("pull_verification", one_of(*PULL_POLICIES)),
    "preloadedImagesVerificationAllowlist": ("pull_allowlist", image_patterns),
    "configMapAndSecretChangeDetectionStrategy": ("object_changes", one_of("Watch", "Cache", "Get")),
}
"""Field to the name in model.settings.Settings and the value's check."""

TOGETHER = (
    "serializeImagePulls", "maxParallelImagePulls", "crashLoopBackOff",
    "evictionHard", "mergeDefaultEvictionSettings", "nodeStatusUpdateFrequency", "nodeStatusReportFrequency",
)  # fmt: skip
"""Acted on too, by agent/config.py: they make a setting together, or are nested."""

OWN: dict[str, tuple[str, Convert]] = {
    "nodeName": ("node_name", text),
    "rootDir": ("root_dir", path),
    "inCluster": ("in_cluster", flag),
    "relistPeriod": ("relist_s", period_s(1)),
    "shards": ("shards", whole(1, 256)),
    "drainOnExit": ("drain_on_exit", flag),
    "journalMB": ("journal_mb", whole(0, 65536)),
    "logLevel": ("log_level", one_of("debug", "info", "warning", "error")),
}
"""Fields of the `podherd:` block."""

CRASH_LOOP = {"maxContainerRestartPeriod": duration_s}

_KNOWN = """
enableServer address readOnlyPort tlsCertFile tlsPrivateKeyFile tlsCipherSuites tlsMinVersion tlsCurvePreferences
serverTLSBootstrap authentication authorization enableDebuggingHandlers enableContentionProfiling healthzPort
healthzBindAddress oomScoreAdj streamingConnectionIdleTimeout imageMinimumGCAge imageMaximumGCAge
imageGCHighThresholdPercent imageGCLowThresholdPercent volumeStatsAggPeriod kubeletCgroups systemCgroups
cgroupsPerQOS cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod memoryManagerPolicy
topologyManagerPolicy topologyManagerScope topologyManagerPolicyOptions qosReserved hairpinMode podCIDR podPidsLimit
runOnce maxOpenFiles contentType evictionSoft evictionSoftGracePeriod evictionPressureTransitionPeriod
evictionMaxPodGracePeriod evictionMinimumReclaim protectKernelDefaults makeIPTablesUtilChains iptablesMasqueradeBit
iptablesDropBit featureGates failSwapOn memorySwap containerLogMaxSize containerLogMaxFiles containerLogMaxWorkers
containerLogMonitorInterval reservedSystemCPUs showHiddenMetricsForVersion systemReservedCgroup kubeReservedCgroup
enforceNodeAllocatable volumePluginDir kernelMemcgNotification logging enableSystemLogHandler enableSystemLogQuery
reservedMemory enableProfilingHandler enableDebugFlagsHandler memoryThrottlingFactor memoryReservationPolicy tracing
localStorageCapacityIsolation failCgroupV1
"""

KNOWN = frozenset(_KNOWN.split())
"""Fields that are accepted and not acted on yet; `podherd doctor --config F` lists those that a file sets."""
