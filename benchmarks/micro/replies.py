"""List replies as a containerd node gives them: bytes of ListPodSandboxResponse and ListContainersResponse.

containerd keeps its objects in Go maps, so neither the order of entries nor that of a label map is ever the same twice:
`shuffled` gives a reply anew, in another order of both.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cri_api.v1 import api_pb2

_CREATED_AT_NS = 1_760_000_000_000_000_000
_RUNNING = api_pb2.ContainerState.CONTAINER_RUNNING
_EXITED = api_pb2.ContainerState.CONTAINER_EXITED
_LABELS = {"sandbox": (5, 6), "container": (8, 9)}
"""Field numbers of the label and annotation maps."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry in parts: the fields before and after the maps, and the maps' fields, in any order."""

    head: bytes
    labels: list[bytes]
    annotations: list[bytes]
    tail: bytes

    def bytes(self, rng: random.Random) -> bytes:
        """The entry as item of its reply, its maps in a random order."""
        rng.shuffle(self.labels)
        rng.shuffle(self.annotations)
        body = b"".join((self.head, *self.labels, *self.annotations, self.tail))
        return b"\x0a" + varint(len(body)) + body

    @property
    def size(self) -> int:
        """Bytes of the entry, without its tag and length."""
        return len(self.head) + sum(map(len, (*self.labels, *self.annotations))) + len(self.tail)


def varint(value: int) -> bytes:
    """An unsigned varint."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _map_fields(number: int, pairs: dict[str, str]) -> list[bytes]:
    fields = []
    for key, value in pairs.items():
        raw = (key.encode(), value.encode())
        body = b"\x0a" + varint(len(raw[0])) + raw[0] + b"\x12" + varint(len(raw[1])) + raw[1]
        fields.append(varint(number << 3 | 2) + varint(len(body)) + body)
    return fields


def _hex_id(kind: str, index: int) -> str:
    return f"{random.Random(f'{kind}{index}').getrandbits(256):064x}"


def _uid(index: int) -> str:
    raw = f"{random.Random(f'uid{index}').getrandbits(128):032x}"
    return "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]))


def _pod_labels(index: int) -> dict[str, str]:
    return {
        "io.kubernetes.pod.name": f"web-{index:05d}-node-1",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": _uid(index),
    }


def sandbox(index: int) -> Entry:
    """The sandbox of pod `index`."""
    head = api_pb2.PodSandbox(
        id=_hex_id("sandbox", index),
        metadata=api_pb2.PodSandboxMetadata(name=f"web-{index:05d}-node-1", uid=_uid(index), namespace="default"),
        created_at=_CREATED_AT_NS + index,
    )
    labels, annotations = _LABELS["sandbox"]
    notes = {
        "kubernetes.io/config.hash": _uid(index),
        "kubernetes.io/config.seen": "2026-01-01T00:00:00.000000000Z",
        "kubernetes.io/config.source": "file",
    }
    return Entry(
        head.SerializeToString(),
        _map_fields(labels, _pod_labels(index) | {"app": "web"}),
        _map_fields(annotations, notes),
        api_pb2.PodSandbox(runtime_handler="runc").SerializeToString(),
    )


def container(index: int, *, exited: bool = False, full: bool = False) -> Entry:
    """The container of pod `index`, about 500 bytes; `full`: with everything that containerd 2 and a kubelet write."""
    head = api_pb2.Container(
        id=_hex_id("container", index),
        pod_sandbox_id=_hex_id("sandbox", index),
        metadata=api_pb2.ContainerMetadata(name="web"),
        image=api_pb2.ImageSpec(image="registry.local/library/web:1.0"),
        image_ref=f"sha256:{7:064x}",
        state=_EXITED if exited else _RUNNING,
        created_at=_CREATED_AT_NS + index,
    )
    labels, annotations = _LABELS["container"]
    notes = {"io.kubernetes.container.hash": "5d3f9a1c"}
    if full:
        notes |= {
            "io.kubernetes.container.restartCount": "0",
            "io.kubernetes.container.terminationMessagePath": "/dev/termination-log",
            "io.kubernetes.container.terminationMessagePolicy": "File",
            "io.kubernetes.pod.terminationGracePeriod": "30",
        }
    return Entry(
        head.SerializeToString(),
        _map_fields(labels, _pod_labels(index) | {"io.kubernetes.container.name": "web"}),
        _map_fields(annotations, notes),
        api_pb2.Container(image_id=f"sha256:{7:064x}").SerializeToString() if full else b"",
    )


def shuffled(entries: Iterable[Entry], rng: random.Random) -> bytes:
    """A reply with these entries, in a random order, each with its maps in a random order."""
    items = list(entries)
    rng.shuffle(items)
    return b"".join(item.bytes(rng) for item in items)


def changing(count: int, every: int, make: Callable[[int, bool], Entry]) -> list[Entry]:
    """`count` containers of which each `every`-th is exited (none when 0)."""
    return [make(index, bool(every) and index % every == 0) for index in range(count)]
