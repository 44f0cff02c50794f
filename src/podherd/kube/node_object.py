"""The Node's own objects as they are written: what an adopted Node is given, and its Lease. Pure."""

from typing import Any

from podherd.kube.door import Body
from podherd.model.status import rfc3339_micro


def to_adopt(there: Body, wanted: Body) -> dict[str, Any] | None:
    """The patch that gives an existing Node the labels and annotations it should have; None when it has them."""
    change: dict[str, Any] = {}
    for field in ("labels", "annotations"):
        have = there["metadata"].get(field) or {}
        lacking = {key: value for key, value in wanted["metadata"][field].items() if have.get(key) != value}
        if lacking:
            change[field] = lacking
    return {"metadata": change} if change else None


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
