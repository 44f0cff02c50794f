"""`podherd run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from podherd.agent.commands import run_options as options
from podherd.agent.config_values import HOLLOW

if TYPE_CHECKING:
    from podherd.agent.config import Loaded
    from podherd.model.settings import Settings


def run(
    config: options.Config = None,
    manifests: options.Manifests = None,
    pod_manifest_path: options.PodManifestPath = None,
    manifest_url: options.ManifestUrl = None,
    manifest_url_header: options.ManifestUrlHeader = None,
    file_check_frequency: options.FileCheck = None,
    http_check_frequency: options.HttpCheck = None,
    kubeconfig: options.Kubeconfig = None,
    bootstrap_kubeconfig: options.BootstrapKubeconfig = None,
    in_cluster: options.InCluster = None,
    cert_dir: options.CertDir = None,
    node_ip: options.NodeIp = None,
    node_labels: options.NodeLabels = None,
    register_node: options.RegisterNode = None,
    register_with_taints: options.RegisterWithTaints = None,
    max_pods: options.MaxPods = None,
    image_credential_provider_config: options.CredentialConfig = None,
    image_credential_provider_bin_dir: options.CredentialBinDir = None,
    runtime: options.Runtime = None,
    provision: options.Provision = False,
    root_dir: options.OwnRoot = None,
    node_name: options.NodeName = None,
    drain_on_exit: options.DrainOnExit = None,
    shards: options.Shards = None,
    watch: options.Watch = True,
) -> None:
    """Run the agent until Ctrl-C or SIGTERM. Containers run on, and the next start takes them over."""
    from podherd.agent.config import load

    headers = tuple(_checked("--manifest-url-header", "header", word) for word in manifest_url_header or ())
    flags = {
        "manifests": _absolute(manifests or pod_manifest_path),
        "manifest_url": _checked("--manifest-url", "url", manifest_url),
        "manifest_url_headers": headers or None,
        "file_check_s": _checked("--file-check-frequency", "duration_s", file_check_frequency) or None,
        "http_check_s": _checked("--http-check-frequency", "duration_s", http_check_frequency) or None,
        "runtime_endpoint": _checked("--runtime", "endpoint", runtime),
        "root_dir": _absolute(root_dir),
        "node_name": node_name,
        "kubeconfig": _absolute(kubeconfig),
        "bootstrap_kubeconfig": _absolute(bootstrap_kubeconfig),
        "in_cluster": in_cluster,
        "cert_dir": _absolute(cert_dir),
        "node_ips": _checked("--node-ip", "node_ips", node_ip),
        "node_labels": _checked("--node-labels", "node_labels", node_labels),
        "register_node": register_node,
        "node_taints": _checked("--register-with-taints", "taint_words", register_with_taints),
        "max_pods": max_pods,
        "credential_config": _absolute(image_credential_provider_config),
        "credential_bin_dir": _absolute(image_credential_provider_bin_dir),
        "drain_on_exit": drain_on_exit,
        "shards": shards,
    }
    raise typer.Exit(_start(load(config, flags), provision, watch))


_EXAMPLES = {
    "endpoint": "for example --runtime unix:///run/containerd/containerd.sock; without it podherd looks for one",
    "duration_s": "for example 20s",
    "url": "for example https://host/pods.yaml",
    "header": "for example Authorization:token",
    "node_ips": "for example --node-ip 192.0.2.10",
    "node_labels": "for example --node-labels disk=ssd,node.kubernetes.io/pool=big",
    "taint_words": "for example --register-with-taints dedicated=batch:NoSchedule",
}


def _absolute(path: Path | None) -> Path | None:
    return path.absolute() if path else None


def _checked(flag: str, kind: str, word: str | None) -> Any:
    """The flag's value by a converter of config_values or config_node. Raises ConfigError naming the flag."""
    from podherd.agent import config_node, config_values
    from podherd.errors import ConfigError

    if word is None:
        return None
    try:
        return (vars(config_values) | vars(config_node))[kind](word)
    except ValueError as error:
        raise ConfigError(flag, str(error), _EXAMPLES[kind]) from error


def with_runtime(settings: "Settings", endpoint: str) -> "Settings":
    """The settings with the runtime that was chosen. Pretended containers' logs stay in the root, and end with them."""
    from dataclasses import replace
    from shutil import rmtree

    if endpoint != HOLLOW:
        return replace(settings, runtime_endpoint=endpoint)
    logs = settings.root_dir / "hollow-logs"
    rmtree(logs, ignore_errors=True)
    return replace(settings, runtime_endpoint=endpoint, pod_logs_dir=logs)


def _start(loaded: "Loaded", provision: bool, watch: bool) -> int:
    import sys
    from contextlib import ExitStack

    from podherd.agent import lock, parent, runtime_choice, screen

    settings, say = loaded.settings, screen.say_plainly
    with ExitStack() as stack:
        stack.enter_context(lock.root_lock(settings.root_dir))
        if loaded.not_acted:
            say(f"configured, and not acted on yet: {', '.join(loaded.not_acted)}")
        if settings.manifests is None and not settings.manifest_url and not settings.serves_api:
            say(
                "no pods are configured: give --manifests, --manifest-url, staticPodPath in the --config file, "
                "or --kubeconfig"
            )
        endpoint = runtime_choice.choose(settings.runtime_endpoint, provision, settings.root_dir, say)
        settings = with_runtime(settings, endpoint)
        say(f"node {settings.node_name}, runtime {endpoint}, root directory {settings.root_dir}")
        if not watch:
            return parent.run(settings, say)
        live = sys.stdout.isatty()
        on_state = stack.enter_context(screen.watching(settings.root_dir, live))
        # On a terminal the actors' log lines must go above the table, not into it.
        return parent.run(settings, on_state, screen.but_shown(on_state if live else parent.to_stderr))
