"""The hash that says whether a running container is still the one that its spec wants (kubelet behaviour, section 3.4).

It covers `name` and `image` alone, so no new field of a later release can restart a container (case STATE-1).
"""

import json
from collections.abc import Mapping
from functools import lru_cache

from podherd.model import keys
from podherd.model.images import same_image

HASH_SCHEME = "1"
"""What `container_hash` covers and how, as a version; written beside each hash."""
_OFFSET = 0x811C9DC5
_PRIME = 0x01000193


def fnv32a(data: bytes) -> int:
    """FNV-1a, 32 bits."""
    value = _OFFSET
    for byte in data:
        value = ((value ^ byte) * _PRIME) & 0xFFFFFFFF
    return value


@lru_cache(maxsize=4096)
def container_hash(name: str, image: str) -> str:
    """The kubelet's own hash, in hex without leading zeros: a node may change from kubelet to podherd and back.

    The kubelet hashes not the JSON but the decimal print of its bytes, `([]uint8)[123 34 …]`.
    """
    text = json.dumps({"image": image, "name": name}, separators=(",", ":"), ensure_ascii=False)
    printed = "([]uint8)[" + " ".join(map(str, text.encode())) + "]"
    return f"{fnv32a(printed.encode()):x}"


def same_container(annotations: Mapping[str, str], name: str, image: str, container_image: str) -> bool:
    """Whether a container with these CRI annotations, running `container_image`, is what `name` and `image` want.

    An equal hash is enough. An unequal one decides only when this scheme wrote it: the kubelet or another release may
    have hashed otherwise, and then the images themselves are compared; one that cannot be compared counts as the same.
    """
    if annotations.get(keys.CONTAINER_HASH) == container_hash(name, image):
        return True
    if annotations.get(keys.HASH_SCHEME) == HASH_SCHEME:
        return False
    return same_image(image, container_image)
