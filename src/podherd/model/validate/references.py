"""What a static pod may not refer to: objects that only an API server has (kubelet behaviour, section 1.4)."""

from collections.abc import Iterator, Mapping
from typing import Any

from podherd.model.validate.containers import every_container

_BY_VOLUME = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_BY_PROJECTION = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}
_BY_SECRET_REF = ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")
_MEND = {"serviceaccounts": "remove serviceAccountName", "configmaps": "write the values into the manifest"}


def forbidden_reference(spec: Mapping[str, Any]) -> tuple[str, str]:
    """The first reference to an API object as `(text, mend)`; two empty strings when there is none."""
    for reference in _references(spec):
        return f"static pods may not reference {reference}", _MEND.get(
            reference, "a static pod has no API server to ask"
        )
    return "", ""


def _references(spec: Mapping[str, Any]) -> Iterator[str]:
    if spec.get("serviceAccountName"):
        yield "serviceaccounts"
    if spec.get("imagePullSecrets"):
        yield "secrets"
    for _, container in every_container(spec):
        yield from _env_references(container)
    if spec.get("resourceClaims"):
        yield "resourceclaims"
    for volume in spec.get("volumes", ()):
        yield from _volume_references(volume)


def _env_references(container: Mapping[str, Any]) -> Iterator[str]:
    for source in container.get("envFrom", ()):
        yield "configmaps" if "configMapRef" in source else "secrets"
    for variable in container.get("env", ()):
        source = variable.get("valueFrom", {})
        if "secretKeyRef" in source:
            yield "secrets"
        if "configMapKeyRef" in source:
            yield "configmaps"


def _volume_references(volume: Mapping[str, Any]) -> Iterator[str]:
    for kind, reference in _BY_VOLUME.items():
        if kind in volume:
            yield reference
    for kind in _BY_SECRET_REF:
        if volume.get(kind, {}).get("secretRef"):
            yield "secrets"
    for part in volume.get("projected", {}).get("sources", ()):
        for kind, reference in _BY_PROJECTION.items():
            if kind in part:
                yield reference
