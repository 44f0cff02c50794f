"""The Node's own objects as they are written: what an adopted Node is given, its status, its Lease. Pure."""

from typing import Any

from podherd.kube.door import Body
from podherd.machines.node import ATTACH
from podherd.model.node_labels import DEFAULT_LABELS
from podherd.model.status import rfc3339_micro


def to_adopt(there: Body, wanted: Body) -> dict[str, Any] | None:
    """The patch that makes an existing Node this node's; None when it needs none (section 7).

    Only labels that every node has are put right, whatever the configuration says: a user may have changed others.
    """
    change: dict[str, Any] = {}
    have, labels = there["metadata"].get("labels") or {}, wanted["metadata"]["labels"]
    lacking = {key: value for key, value in labels.items() if key in DEFAULT_LABELS and have.get(key) != value}
    if lacking:
        change["labels"] = lacking
    attached, attach = (each["metadata"].get("annotations") or {} for each in (there, wanted))
    if attached.get(ATTACH) != attach.get(ATTACH):
        change["annotations"] = {ATTACH: attach.get(ATTACH)}
    return {"metadata": change} if change else None


def status_patch(status: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """A strategic merge patch of a Node's status.

    Ready stays last among the conditions of the kubelet. Addresses are replaced whole: two may have one type.
    """
    order = [{"type": each["type"]} for each in status["conditions"]]
    addresses = [*status["addresses"], {"$patch": "replace"}]
    patch: dict[str, Any] = {"status": {**status, "addresses": addresses, "$setElementOrder/conditions": order}}
    return {**patch, "metadata": {"labels": labels}} if labels else patch


def lease_of(node: str, uid: str, duration_s: int, now: float) -> dict[str, Any]:
    """A new v1.Lease, owned by the Node."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": "kube-node-lease", "ownerReferences": [_owner(node, uid)]},
        "spec": _spec(node, duration_s, now),
    }


def renewed(lease: Body, node: str, uid: str, duration_s: int, now: float) -> dict[str, Any]:
    """The lease, held until duration_s from now; its resourceVersion makes a lost race a conflict."""
    metadata = {**lease["metadata"], "ownerReferences": [_owner(node, uid)]}
    return {**lease, "metadata": metadata, "spec": {**(lease.get("spec") or {}), **_spec(node, duration_s, now)}}


def _owner(node: str, uid: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}


def _spec(node: str, duration_s: int, now: float) -> dict[str, Any]:
    return {"holderIdentity": node, "leaseDurationSeconds": duration_s, "renewTime": rfc3339_micro(now)}
