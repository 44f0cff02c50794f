"""The PLEG's table of what the runtime holds, in plain Python: what `relist.pyx` must agree with to the last change.

Rules (both tables): an entry is known by its id; an empty id, or an entry of no pod, is left out. The last entry of
an id in one reply counts, a repeated field's last value too. A sandbox's pod is its metadata's. A container's pod is
that of its labels `io.kubernetes.pod.{uid,namespace,name}`, or its sandbox's where there is no uid label; it is looked
up once, and again only when its sandbox id changes. The state of a field that is missing is that of value 0.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from podherd.model.keys import POD_NAME, POD_NAMESPACE, POD_UID
from podherd.native.changes import (
    ABSENT,
    CONTAINER,
    CONTAINER_REPLY,
    CONTAINER_STATES,
    SANDBOX,
    SANDBOX_REPLY,
    SANDBOX_STATES,
    Change,
    refusal,
)
from podherd.native.fallback.protowire import BadWireError, field, varint

PodKey = tuple[str, str, str]
"""uid, namespace, name."""

_ITEM = 1 << 3 | 2  # items of ListPodSandboxResponse, containers of ListContainersResponse
_ID = 1 << 3 | 2
_SANDBOX_METADATA, _SANDBOX_STATE = 2 << 3 | 2, 3 << 3
_METADATA_NAME, _METADATA_UID, _METADATA_NAMESPACE = 1 << 3 | 2, 2 << 3 | 2, 3 << 3 | 2
_CONTAINER_SANDBOX, _CONTAINER_STATE, _CONTAINER_LABELS = 2 << 3 | 2, 6 << 3, 8 << 3 | 2
_KEY, _VALUE = 1 << 3 | 2, 2 << 3 | 2


class Item(NamedTuple):
    """One entry as the reply has it; `start` and `stop` bound its bytes. pod: a sandbox's, uid empty if it has none."""

    id: bytes
    sandbox: bytes
    state: str
    pod: PodKey
    start: int
    stop: int


class Row(NamedTuple):
    """One entry as the table holds it."""

    pod: PodKey
    sandbox: bytes
    state: str


_NO_POD: PodKey = ("", "", "")
_Rows = dict[bytes, Row]
_Read = Callable[[bytes, int, int], Item]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _state(names: tuple[str, ...], data: bytes, start: int, stop: int) -> str:
    value = varint(data, start, stop, start)[0] & 0xFFFFFFFF
    return names[min(value, len(names) - 1)]


def _read_sandbox(data: bytes, start: int, stop: int) -> Item:
    ident, state, parts = b"", SANDBOX_STATES[0], []
    pos = start
    while pos < stop:
        tag, at, pos = field(data, pos, stop)
        if tag == _ID:
            ident = data[at:pos]
        elif tag == _SANDBOX_STATE:
            state = _state(SANDBOX_STATES, data, at, pos)
        elif tag == _SANDBOX_METADATA:
            parts.append((at, pos))
    return Item(ident, b"", state, _read_metadata(data, parts), start, stop)


def _read_metadata(data: bytes, parts: list[tuple[int, int]]) -> PodKey:
    """The pod that a sandbox's metadata names; a message that came in parts is their merge."""
    uid, namespace, name = b"", b"", b""
    for pos, stop in parts:
        while pos < stop:
            tag, at, pos = field(data, pos, stop)
            if tag == _METADATA_UID:
                uid = data[at:pos]
            elif tag == _METADATA_NAMESPACE:
                namespace = data[at:pos]
            elif tag == _METADATA_NAME:
                name = data[at:pos]
    return _text(uid), _text(namespace), _text(name)


def _read_container(data: bytes, start: int, stop: int) -> Item:
    ident, sandbox, state = b"", b"", CONTAINER_STATES[0]
    pos = start
    while pos < stop:
        tag, at, pos = field(data, pos, stop)
        if tag == _ID:
            ident = data[at:pos]
        elif tag == _CONTAINER_SANDBOX:
            sandbox = data[at:pos]
        elif tag == _CONTAINER_STATE:
            state = _state(CONTAINER_STATES, data, at, pos)
    return Item(ident, sandbox, state, _NO_POD, start, stop)


def _read_labels(data: bytes, start: int, stop: int) -> PodKey:
    """The pod that a container's labels name, uid empty if they do not."""
    found = {POD_UID.encode(): b"", POD_NAMESPACE.encode(): b"", POD_NAME.encode(): b""}
    pos = start
    while pos < stop:
        tag, at, pos = field(data, pos, stop)
        if tag == _CONTAINER_LABELS:
            key = value = b""
            while at < pos:
                inner, first, at = field(data, at, pos)
                if inner == _KEY:
                    key = data[first:at]
                elif inner == _VALUE:
                    value = data[first:at]
            if key in found:
                found[key] = value
    uid, namespace, name = found.values()
    return _text(uid), _text(namespace), _text(name)


def _latest(data: bytes, read: _Read) -> dict[bytes, Item]:
    """The last entry of each id, in the order of their last appearance."""
    items: dict[bytes, Item] = {}
    pos = 0
    while pos < len(data):
        tag, start, pos = field(data, pos, len(data))
        if tag == _ITEM:
            item = read(data, start, pos)
            items.pop(item.id, None)
            items[item.id] = item
    items.pop(b"", None)
    return items


def _differences(kind: str, seen: Iterable[bytes], old: _Rows, new: _Rows) -> list[Change]:
    """Changes in the order of the reply, then what is gone, sorted."""
    changes: list[Change] = []
    for ident in seen:
        before, after = old.get(ident), new.get(ident)
        if before == after:
            continue
        if before and after and before.pod == after.pod:
            changes.append(Change(kind, _text(ident), *after.pod, before.state, after.state))
            continue
        if before:
            changes.append(Change(kind, _text(ident), *before.pod, before.state, ABSENT))
        if after:
            changes.append(Change(kind, _text(ident), *after.pod, ABSENT, after.state))
    seen = set(seen)
    gone = [Change(kind, _text(i), *row.pod, row.state, ABSENT) for i, row in old.items() if i not in seen]
    return changes + sorted(gone)


class Table:
    """What the runtime held at the last relist. One owner; not for several threads."""

    def __init__(self) -> None:
        self._sandboxes: _Rows = {}
        self._containers: _Rows = {}

    def relist(self, sandboxes: bytes, containers: bytes) -> list[Change]:
        """Take two undecoded replies (ListPodSandboxResponse, ListContainersResponse) and tell what changed.

        Sandboxes first, then containers; of each kind in the order of the reply, then the gone ones sorted by id.
        Raises TruncatedError for bytes that are no such reply; the table is then as it was before.
        """
        reply, data = SANDBOX_REPLY, sandboxes
        try:
            boxes = _latest(sandboxes, _read_sandbox)
            new_boxes = {i: Row(item.pod, b"", item.state) for i, item in boxes.items() if item.pod[0]}
            reply, data = CONTAINER_REPLY, containers
            found = _latest(containers, _read_container)
            pods = {i: self._container_pod(item, containers, boxes) for i, item in found.items()}
        except BadWireError as bad:
            raise refusal(reply, len(data), bad.at, bad.why) from None
        new = {i: Row(pods[i], item.sandbox, item.state) for i, item in found.items() if pods[i][0]}
        changes = _differences(SANDBOX, boxes, self._sandboxes, new_boxes)
        changes += _differences(CONTAINER, found, self._containers, new)
        self._sandboxes, self._containers = new_boxes, new
        return changes

    def _container_pod(self, item: Item, data: bytes, boxes: dict[bytes, Item]) -> PodKey:
        known = self._containers.get(item.id)
        if known and known.sandbox == item.sandbox:
            return known.pod
        pod = _read_labels(data, item.start, item.stop)
        if pod[0]:
            return pod
        if box := boxes.get(item.sandbox):
            return box.pod
        old_box = self._sandboxes.get(item.sandbox)
        return old_box.pod if old_box else _NO_POD

    def pods(self) -> list[PodKey]:
        """(uid, namespace, name) of every pod that has an entry, sorted."""
        return sorted({row.pod for rows in (self._sandboxes, self._containers) for row in rows.values()})

    def states(self, uid: str) -> dict[str, str]:
        """State by id of one pod's sandboxes, then its containers, each sorted by id; empty for an unknown pod."""
        states: dict[str, str] = {}
        for rows in (self._sandboxes, self._containers):
            states.update((_text(i), rows[i].state) for i in sorted(i for i, row in rows.items() if row.pod[0] == uid))
        return states

    def forget(self, uid: str) -> None:
        """Drop one pod's entries: the next relist reports those that are still there as new."""
        self._sandboxes = {i: row for i, row in self._sandboxes.items() if row.pod[0] != uid}
        self._containers = {i: row for i, row in self._containers.items() if row.pod[0] != uid}

    def counts(self) -> tuple[int, int]:
        """How many sandboxes and how many containers the table holds."""
        return len(self._sandboxes), len(self._containers)

    def clear(self) -> None:
        """Forget everything, as a new table."""
        self._sandboxes, self._containers = {}, {}

    def __len__(self) -> int:
        return len(self._sandboxes) + len(self._containers)
