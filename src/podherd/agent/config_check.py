"""What settings must hold together, whichever flag or field each is from."""

from ipaddress import ip_address

from podherd.errors import ConfigError
from podherd.model.settings import Settings


def check(settings: Settings) -> None:
    """Raises ConfigError for settings that contradict each other, or name an API server that cannot be found."""
    _check_server(settings)
    _check_addresses(settings)
    _check_credentials(settings)
    _check_shutdown(settings)


def _check_server(settings: Settings) -> None:
    file, first = settings.kubeconfig, settings.bootstrap_kubeconfig
    if settings.in_cluster and file is not None:
        raise ConfigError("--in-cluster", "and --kubeconfig name an API server both", "leave one of them out")
    if first is not None and file is None:
        mend = "name with --kubeconfig the file that is to be written"
        raise ConfigError("--bootstrap-kubeconfig", "is of use only beside --kubeconfig", mend)
    if file is None or file.exists():
        return
    if first is None:
        raise ConfigError(f"kubeconfig {file}", "there is no such file", "check --kubeconfig")
    if not first.exists():
        mend = "check --kubeconfig and --bootstrap-kubeconfig"
        raise ConfigError(f"bootstrap kubeconfig {first}", f"there is no such file, and no {file} either", mend)


def _check_addresses(settings: Settings) -> None:
    for ip in settings.node_ips if settings.serves_api else ():
        if ip_address(ip).is_loopback:
            reason = f"{ip} is a loopback address: nothing else in the cluster reaches the node there"
            raise ConfigError("--node-ip", reason, "name an address of this machine that others reach")


def _check_credentials(settings: Settings) -> None:
    if (settings.credential_config is None) != (settings.credential_bin_dir is None):
        mend = "give both: the configuration of the plugins, and the directory of their programs"
        raise ConfigError(
            "--image-credential-provider-config", "and --image-credential-provider-bin-dir are used together", mend
        )
    if settings.pull_allowlist and settings.pull_verification != "NeverVerifyAllowlistedImages":
        mend = "set imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages, or leave the list out"
        raise ConfigError("preloadedImagesVerificationAllowlist", "is of use only with one policy", mend)


def _check_shutdown(settings: Settings) -> None:
    whole_s, critical_s = settings.shutdown_grace_s, settings.shutdown_grace_critical_s
    if critical_s > whole_s:
        reason = "is longer than shutdownGracePeriod, of which it is a part"
        raise ConfigError("shutdownGracePeriodCriticalPods", reason, "make it shorter")
    if settings.shutdown_grace_by_priority and (whole_s or critical_s):
        reason = "and shutdownGracePeriod or shutdownGracePeriodCriticalPods contradict each other"
        raise ConfigError("shutdownGracePeriodByPodPriority", reason, "keep one way")
