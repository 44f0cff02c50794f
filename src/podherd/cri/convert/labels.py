"""Labels and annotations of CRI objects, as the kubelet writes them (kubelet behaviour, section 3.9).

They are the agent's only memory: an orphan is stopped with its preStop hook and its grace from these alone.
"""

import json
from typing import Any

from podherd.model import keys
from podherd.model.hashing import HASH_SCHEME, container_hash
from podherd.model.pod import Container, Pod

_PORT_FIELDS = ("name", "hostPort", "containerPort", "protocol", "hostIP")


def sandbox_labels(pod: Pod) -> dict[str, str]:
    """The pod's labels and its three names."""
    return {**pod.labels, **_pod_names(pod)}


def container_labels(pod: Pod, container: Container) -> dict[str, str]:
    """The pod's three names and the container's."""
    return {**_pod_names(pod), keys.CONTAINER_NAME: container.name}


def _pod_names(pod: Pod) -> dict[str, str]:
    return {keys.POD_NAME: pod.name, keys.POD_NAMESPACE: pod.namespace, keys.POD_UID: pod.uid}


def container_annotations(pod: Pod, container: Container, attempt: int) -> dict[str, str]:
    """Hash, restart count, termination message, hook and grace; ours is the hash's scheme."""
    body, spec, metadata = container.body, pod.body["spec"], pod.body["metadata"]
    notes = {
        keys.CONTAINER_HASH: container_hash(container.name, container.image),
        keys.HASH_SCHEME: HASH_SCHEME,
        keys.CONTAINER_RESTART_COUNT: str(attempt),
        keys.CONTAINER_TERMINATION_MESSAGE_PATH: body.get("terminationMessagePath", ""),
        keys.CONTAINER_TERMINATION_MESSAGE_POLICY: body.get("terminationMessagePolicy", ""),
    }
    if (grace := metadata.get("deletionGracePeriodSeconds")) is not None:
        notes[keys.POD_DELETION_GRACE_PERIOD] = str(grace)
    if (grace := spec.get("terminationGracePeriodSeconds")) is not None:
        notes[keys.POD_TERMINATION_GRACE_PERIOD] = str(grace)
    if hook := (body.get("lifecycle") or {}).get("preStop"):
        notes[keys.CONTAINER_PRE_STOP_HANDLER] = _json(hook)
    if ports := body.get("ports"):
        notes[keys.CONTAINER_PORTS] = _json([_port(port) for port in ports])
    return notes


def _port(port: dict[str, Any]) -> dict[str, Any]:
    return {name: port[name] for name in _PORT_FIELDS if port.get(name)}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
