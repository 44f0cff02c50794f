"""Where the API server has what a Ref means: paths and selectors."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from podherd.wire.objects import Ref

CERTIFICATES = "certificates.k8s.io"
BUNDLES = "clustertrustbundles"
BUNDLE_VERSIONS = ("v1", "v1beta1", "v1alpha1")
"""Of ClusterTrustBundle, newest first: it is of v1 since Kubernetes 1.37."""
_PLURALS = {
    "ConfigMap": ("/api/v1", "configmaps"),
    "Secret": ("/api/v1", "secrets"),
    "Services": ("/api/v1", "services"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "PersistentVolume": ("/api/v1", "persistentvolumes"),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses"),
    "CSIDriver": ("/apis/storage.k8s.io/v1", "csidrivers"),
    "VolumeAttachment": ("/apis/storage.k8s.io/v1", "volumeattachments"),
    "ClusterTrustBundle": (f"/apis/{CERTIFICATES}/v1", BUNDLES),
}
_SINGULAR = {
    "Secret": "secret",
    "ConfigMap": "configmap",
    "RuntimeClass": "runtimeclass.node.k8s.io",
    "CSIDriver": "csidriver.storage.k8s.io",
    "ClusterTrustBundle": "clustertrustbundle.certificates.k8s.io",
}
"""Kinds that the kubelet looks up in what it watches; there an error names them so."""


def list_path(ref: Ref, version: str = "") -> str:
    """The collection that holds it. version: of its API, where that is another than the usual one."""
    root, plural = _PLURALS[ref.kind]
    if version:
        root = f"{root.rpartition('/')[0]}/{version}"
    return f"{root}/namespaces/{quote(ref.namespace, safe='')}/{plural}" if ref.namespace else f"{root}/{plural}"


def object_path(ref: Ref) -> str:
    """The object itself."""
    return f"{list_path(ref)}/{quote(ref.name, safe='')}"


def query_of(ref: Ref) -> dict[str, str]:
    """The selectors that leave only it of its collection; the Node authorizer allows no wider list of Secrets."""
    if ref.name:
        return {"fieldSelector": f"metadata.name={ref.name}"}
    if not ref.detail:
        return {}
    detail = json.loads(ref.detail)
    query = {"fieldSelector": f"spec.signerName={detail['signerName']}"}
    if selector := selector_of(detail.get("labelSelector") or {}):
        query["labelSelector"] = selector
    return query


def token_path(ref: Ref) -> str:
    """Where the tokens of a service account are made."""
    namespace, account = quote(ref.namespace, safe=""), quote(ref.name, safe="")
    return f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"


def token_request(ref: Ref) -> dict[str, Any]:
    """The authentication.k8s.io/v1 TokenRequest for it; without an audience it is for the API server."""
    detail = json.loads(ref.detail)
    pod = {"apiVersion": "v1", "kind": "Pod", **detail["pod"]}
    spec: dict[str, Any] = {"expirationSeconds": detail["expirationSeconds"], "boundObjectRef": pod}
    spec["audiences"] = [detail["audience"]] if detail["audience"] else []
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


def selector_of(selector: Mapping[str, Any]) -> str:
    """A v1.LabelSelector as a query says it."""
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for each in selector.get("matchExpressions") or ():
        key, values = each["key"], ",".join(each.get("values") or ())
        words = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append(words.get(each["operator"], f"!{key}"))
    return ",".join(parts)


def not_found(ref: Ref) -> str:
    """`configmap "x" not found`: the kubelet's words for an object that is not there."""
    name = _SINGULAR.get(ref.kind) or _PLURALS[ref.kind][1]
    return f'{name} "{ref.name}" not found'
