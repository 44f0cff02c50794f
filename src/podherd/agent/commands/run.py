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
    from podherd.errors import ConfigError

    if kubeconfig:
        raise ConfigError("--kubeconfig", "an API server is not served yet", "leave it out: static pods need none")
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
        "drain_on_exit": drain_on_exit,
        "shards": shards,
    }
    raise typer.Exit(_start(load(config, flags), provision, watch))


_EXAMPLES = {
    "endpoint": "for example --runtime unix:///run/containerd/containerd.sock; without it podherd looks for one",
    "duration_s": "for example 20s",
    "url": "for example https://host/pods.yaml",
    "header": "for example Authorization:token",
}


def _absolute(path: Path | None) -> Path | None:
    return path.absolute() if path else None


def _checked(flag: str, kind: str, word: str | None) -> Any:
    """The flag's value by a converter of config_values. Raises ConfigError naming the flag."""
    from podherd.agent import config_values
    from podherd.errors import ConfigError

    if word is None:
        return None
    try:
        return getattr(config_values, kind)(word)
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
        if settings.manifests is None and not settings.manifest_url:
            say("no pods are configured: give --manifests, --manifest-url, or staticPodPath in the --config file")
        endpoint = runtime_choice.choose(settings.runtime_endpoint, provision, settings.root_dir, say)
        settings = with_runtime(settings, endpoint)
        say(f"node {settings.node_name}, runtime {endpoint}, root directory {settings.root_dir}")
        if not watch:
            return parent.run(settings, say)
        live = sys.stdout.isatty()
        on_state = stack.enter_context(screen.watching(settings.root_dir, live))
        # On a terminal the actors' log lines must go above the table, not into it.
        return parent.run(settings, on_state, screen.but_shown(on_state if live else parent.to_stderr))
