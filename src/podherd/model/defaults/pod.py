"""Defaults of the pod spec itself; those of its parts stand beside."""

from itertools import chain
from typing import Any

from podherd.model.defaults.container import set_container_defaults, set_host_ports
from podherd.model.defaults.resources import set_pod_resources
from podherd.model.defaults.volumes import set_volume_defaults

LEAST_GRACE_S = 1
"""What the API makes of a negative grace period."""


def set_defaults(pod: dict[str, Any]) -> None:
    """Fill every field that the API server would fill, in place; running it again changes nothing."""
    spec: dict[str, Any] = pod["spec"]
    spec.setdefault("enableServiceLinks", True)
    if spec.setdefault("terminationGracePeriodSeconds", 30) < 0:
        spec["terminationGracePeriodSeconds"] = LEAST_GRACE_S
    spec.setdefault("securityContext", {})
    for field, value in (
        ("restartPolicy", "Always"),
        ("dnsPolicy", "ClusterFirst"),
        ("schedulerName", "default-scheduler"),
    ):
        if not spec.get(field):
            spec[field] = value
    _one_service_account(spec)
    for container in chain(spec.get("initContainers", ()), spec["containers"], spec.get("ephemeralContainers", ())):
        set_container_defaults(container)
    if "resources" in spec:
        set_pod_resources(spec)
    if spec.get("hostNetwork"):
        for container in chain(spec.get("initContainers", ()), spec["containers"]):
            set_host_ports(container)
    for volume in spec.get("volumes", ()):
        set_volume_defaults(volume)


def _one_service_account(spec: dict[str, Any]) -> None:
    """`serviceAccount` is the deprecated spelling of `serviceAccountName`; the API keeps both alike."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name
