"""`kubernetes.io/config.seen`: when a pod was first seen, kept while its UID stays (kubelet behaviour, section 1.4)."""

from podherd.model.keys import CONFIG_SEEN
from podherd.wire import codec


def with_seen_of(old: bytes, new: bytes) -> bytes:
    """The new body with the old one's time, when both are of one UID; else the new body as it is."""
    before, after = codec.unpack(old)["metadata"], codec.unpack(new)
    if before["uid"] != after["metadata"]["uid"]:
        return new
    after["metadata"]["annotations"][CONFIG_SEEN] = before["annotations"][CONFIG_SEEN]
    return codec.pack(after)
