"""Who a static pod is: name, UID and marks (kubelet behaviour, section 1.4).

The UID is a hash of the defaulted pod, the node and where the manifest stands: the same after every restart, new after
every edit. It does not depend on how the manifest is written (order, comments, form). A release that adds a
default changes it for every pod: tests pin some UIDs so that this never happens unseen.
"""

from hashlib import blake2b
from typing import Any

import orjson

from podherd.model import keys

_SERVER_SET = (
    "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
    "managedFields", "selfLink",
)  # fmt: skip
_TOLERATE_ALL = {"operator": "Exists", "effect": "NoExecute"}


def static_name(name: str, node_name: str) -> str:
    """`web` on `Node1` is `web-node1`."""
    return f"{name}-{node_name.lower()}"


def content_hash(pod: dict[str, Any], node_name: str, origin: str) -> str:
    """32 hex digits over the pod, `host:<node>` and the origin (`file:<path>` or `url:<url>`).

    16 bytes of BLAKE2b stand for the kubelet's FNV-128a: the same length, and one C call.
    """
    digest = blake2b(orjson.dumps(pod, option=orjson.OPT_SORT_KEYS), digest_size=16)
    digest.update(f"host:{node_name}\n{origin}".encode())
    return digest.hexdigest()


def make_static(pod: dict[str, Any], node_name: str, source: str, origin: str) -> str:
    """Give a defaulted pod its identity, in place; returns the content hash, which differs whenever the pod does.

    A `metadata.uid` that the manifest gives is kept. What only an API server sets is dropped, so a manifest saved from
    `kubectl get` is no older or dying pod. `config.seen` is the merger's to write.
    """
    metadata, spec = pod["metadata"], pod["spec"]
    for field in _SERVER_SET:
        metadata.pop(field, None)
    content = content_hash(pod, node_name, origin)
    uid = metadata["uid"] = metadata.get("uid") or content
    metadata["name"] = static_name(metadata["name"], node_name)
    metadata["namespace"] = metadata.get("namespace") or "default"
    annotations = metadata.setdefault("annotations", {})
    annotations.pop(keys.CONFIG_MIRROR, None)
    annotations.pop(keys.CONFIG_SEEN, None)
    annotations[keys.CONFIG_HASH] = uid
    annotations[keys.CONFIG_SOURCE] = source
    spec["nodeName"] = node_name
    if source == keys.SOURCE_FILE:
        spec["tolerations"] = [*spec.get("tolerations", ()), dict(_TOLERATE_ALL)]
    pod["status"] = {"phase": "Pending"}
    return content
