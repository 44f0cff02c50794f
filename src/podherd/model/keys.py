"""Names that Kubernetes and the kubelet write on CRI objects and pods (kubelet behaviour, section 3.9)."""

from zlib import crc32

POD_NAME = "io.kubernetes.pod.name"
POD_NAMESPACE = "io.kubernetes.pod.namespace"
POD_UID = "io.kubernetes.pod.uid"
CONTAINER_NAME = "io.kubernetes.container.name"

CONTAINER_HASH = "io.kubernetes.container.hash"
CONTAINER_RESTART_COUNT = "io.kubernetes.container.restartCount"
CONTAINER_TERMINATION_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
CONTAINER_TERMINATION_MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
CONTAINER_PRE_STOP_HANDLER = "io.kubernetes.container.preStopHandler"
CONTAINER_PORTS = "io.kubernetes.container.ports"
POD_DELETION_GRACE_PERIOD = "io.kubernetes.pod.deletionGracePeriod"
POD_TERMINATION_GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod"
HASH_SCHEME = "podherd.io/container.hashScheme"
"""Which scheme wrote CONTAINER_HASH; absent on containers that the kubelet made."""

CONFIG_SOURCE = "kubernetes.io/config.source"
CONFIG_SEEN = "kubernetes.io/config.seen"
CONFIG_HASH = "kubernetes.io/config.hash"
CONFIG_MIRROR = "kubernetes.io/config.mirror"

SOURCE_FILE = "file"
SOURCE_HTTP = "http"
SOURCE_API = "api"


def full_name(name: str, namespace: str) -> str:
    """The kubelet's full name of a pod, `<podname>_<namespace>`."""
    return f"{name}_{namespace}"


def shard_of(namespace: str, name: str, shards: int) -> int:
    """The shard that owns every pod of this full name, 0 <= shard < shards.

    By full name and not by UID: an edited static pod is a new UID under the same full name, and the one
    owner of both can keep the new from starting before the old has stopped (case SRC-3).
    """
    return crc32(f"{namespace}/{name}".encode()) % shards
