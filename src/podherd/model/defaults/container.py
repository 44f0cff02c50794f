"""Defaults of a container: image policy, messages, ports, resources, handlers, fields."""

from typing import Any

from podherd.model.defaults.images import default_pull_policy
from podherd.model.defaults.probes import set_handler_defaults, set_probe_defaults
from podherd.model.defaults.resources import set_container_resources

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def set_container_defaults(container: dict[str, Any]) -> None:
    """Fill one container of any kind, in place."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for port in container.get("ports", ()):
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    if "resources" in container:
        set_container_resources(container)
    if "env" in container:
        _set_env(container["env"])
    for name in _PROBES:
        if name in container:
            set_probe_defaults(container[name])
    for hook in container.get("lifecycle", {}).values():
        if isinstance(hook, dict):
            set_handler_defaults(hook)


def set_host_ports(container: dict[str, Any]) -> None:
    """On the host's network a container port is a host port."""
    for port in container.get("ports", ()):
        if not port.get("hostPort"):
            port["hostPort"] = port["containerPort"]


def _set_env(env: list[dict[str, Any]]) -> None:
    for variable in env:
        if value_from := variable.get("valueFrom"):
            if field := value_from.get("fieldRef"):
                field.setdefault("apiVersion", "v1")
            if key := value_from.get("fileKeyRef"):
                key.setdefault("optional", False)
