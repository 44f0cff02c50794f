"""Mirror pods: static pods as the API server shows them (kubelet behaviour, section 1.6)."""

from collections.abc import Mapping
from typing import Any

from podherd.model.keys import CONFIG_HASH, CONFIG_MIRROR

_SERVERS_OWN = frozenset({
    "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
    "selfLink", "managedFields",
})  # fmt: skip
Body = Mapping[str, Any]


def hash_of(body: Body) -> str:
    """What a mirror of this static pod must be marked with: its config.hash, or the uid that this is made of."""
    metadata = body["metadata"]
    return str((metadata.get("annotations") or {}).get(CONFIG_HASH) or metadata["uid"])


def mirror_body(body: Body, node_name: str, node_uid: str) -> dict[str, Any]:
    """The v1.Pod to create: all annotations and the mark, owned by the Node; a mirror has a uid of its own."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in _SERVERS_OWN}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), CONFIG_MIRROR: hash_of(body)}
    owner = {"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": node_uid, "controller": True}
    metadata["ownerReferences"] = [owner]
    rest = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    return {"apiVersion": "v1", "kind": "Pod", **rest, "metadata": metadata}
