"""A pod's own users (`hostUsers: false`): which ids of the host stand for its 0, 1, 2… (kubelet behaviour, 3.11).

Ids of the host are given out in blocks of one size. The first block is the host's own users', so it is never given; nor
is the last, since the kernel takes no mapping that ends at the largest id (user_namespaces(7)).
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from zlib import crc32

from cri_api.v1 import api_pb2 as pb

from podherd.errors import ContainerConfigError
from podherd.model.pod import Pod

UNIT = 65536
"""A block is a whole number of these."""
ALL_IDS = 1 << 32
_FIELD = "spec.hostUsers"


class Block(NamedTuple):
    """`length` ids of the host from `first_id` on, for users and groups alike."""

    first_id: int
    length: int

    @property
    def units(self) -> range:
        """The numbers of the units that it covers."""
        return range(self.first_id // UNIT, (self.first_id + self.length) // UNIT)


def wanted(pod: Pod) -> bool:
    """Whether the pod asks for its own users."""
    return pod.body["spec"].get("hostUsers") is False


def check_supported(handler: str, handlers: Iterable[pb.RuntimeHandler]) -> None:
    """Raise ContainerConfigError, in the kubelet's words, unless the `handler` among the runtime's can do it.

    A runtime too old to tell of its handlers cannot.
    """
    if any(one.name == handler and one.features.user_namespaces for one in handlers):
        return
    who = f'RuntimeClass handler "{handler}"' if handler else "runtime"
    reason = f"can't set `spec.hostUsers: false`, {who} does not support user namespaces"
    raise ContainerConfigError(_FIELD, reason, "use a newer runtime and kernel, or leave hostUsers out")


def blocks(uid: str, length: int) -> Iterator[Block]:
    """Every block that may be given, each once, beginning at one that the pod's uid picks: few tries meet a used one.

    length: a multiple of UNIT (`userNamespaces.idsPerPod`).
    """
    count = ALL_IDS // length - 2
    start = crc32(uid.encode()) % count
    for step in range(count):
        yield Block(length * (1 + (start + step) % count), length)


def to_json(block: Block) -> bytes:
    """As the kubelet keeps it in `<pod>/userns`."""
    mapping = [{"hostId": block.first_id, "containerId": 0, "length": block.length}]
    return json.dumps({"uidMappings": mapping, "gidMappings": mapping}, separators=(",", ":")).encode()


def from_json(data: bytes) -> Block:
    """The block that such a file tells. Raises ContainerConfigError for what no kubelet and no podherd writes."""
    try:
        body: Any = json.loads(data)
        (uids,), (gids,) = body["uidMappings"], body["gidMappings"]
        block = Block(int(uids["hostId"]), int(uids["length"]))
        if uids != gids or uids["containerId"] != 0:
            raise ValueError("users and groups must have the same mapping, from 0 on")
        if block.first_id < UNIT or block.length <= 0 or block.first_id % UNIT or block.length % UNIT:
            raise ValueError(f"ids {block.first_id} and {block.length} more are no block")
    except (ValueError, KeyError, TypeError) as error:
        raise ContainerConfigError(_FIELD, f"invalid user namespace mappings file: {error}") from error
    return block


def namespace(block: Block) -> pb.UserNamespace:
    """The mapping as sandbox, containers and their mounts get it."""
    mapping = pb.IDMapping(host_id=block.first_id, container_id=0, length=block.length)
    return pb.UserNamespace(mode=pb.POD, uids=[mapping], gids=[mapping])
