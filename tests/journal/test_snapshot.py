"""Machines as bytes: they go on as they stood, and nothing foreign is loaded."""

import os
import pickle
from typing import Any

import pytest
from tests.machines.pod import builders

from podherd.journal import kinds, snapshot
from podherd.machines.capacity import Amounts
from podherd.machines.node import Facts
from podherd.machines.node_events import Addresses, Looked
from podherd.machines.node_machine import NodeMachine
from podherd.machines.pleg.events import Relisted
from podherd.machines.pleg.events import Woke as PlegWoke
from podherd.machines.pleg.machine import PlegMachine
from podherd.machines.pleg.rules import Rules
from podherd.machines.pod.events import SandboxFailed, Synced, Woke
from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import OriginRead, SourceListed, StaticPod
from podherd.model.hashing import container_hash
from podherd.model.quantity import QuantityError
from podherd.native.changes import Change
from podherd.wire.control import Hello

AMOUNTS = Amounts(2, 2**30, 2**30, 110)
FACTS = Facts("n", "n", ("192.0.2.1",), AMOUNTS, {"operatingSystem": "linux", "architecture": "amd64"})
STATIC = StaticPod("u1", "default", "web", "c1", b"\x81\xa8metadata\x81\xa3uid\xa2u1")
MACHINES: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "pod": (
        builders.machine(),
        [builders.wanted()],
        [Synced("u1", 1, builders.T0 + 2, (SandboxFailed("no"),), True), Woke("u1")],
    ),
    "pleg": (
        PlegMachine(Rules(2)),
        [PlegWoke(), Relisted(builders.T0, [Change("sandbox", "s", "u", "ns", "web", "", "ready")], 1, 0)],
        [Hello("pod_shard-0"), PlegWoke()],
    ),
    "sources": (
        SourcesMachine(2, ("file",)),
        [OriginRead("file", "/a", (STATIC,))],
        [SourceListed("file"), OriginRead("file", "/a", ())],
    ),
    "node": (
        NodeMachine(FACTS, "cgroupfs"),
        [Looked("hollow://1", "", "", "systemd")],
        [Addresses(("192.0.2.2",))],
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_goes_on_as_it_stood(name: str) -> None:
    machine, before, after = MACHINES[name]
    machine.handle(builders.T0 + 1, *before)
    again = snapshot.restored(snapshot.taken(machine))
    said = 0
    for at in (builders.T0 + 20, builders.T0 + 90):
        expected = [kinds.plain(told) for told in machine.handle(at, *after)]
        assert [kinds.plain(told) for told in again.handle(at, *after)] == expected
        said += len(expected)
    assert said


class _Evil:
    def __init__(self, what: Any, *args: Any) -> None:
        self.call = what, args

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    "evil",
    [
        _Evil(os.system, "true"),
        _Evil(eval, "1"),
        _Evil(getattr, "x", "join"),
        _Evil(container_hash, "a", "b"),
        _Evil(os.path.join, "a"),
        _Evil(QuantityError, "a", "b"),
    ],
    ids=["system", "eval", "getattr", "a function of the model", "path", "a class of the model"],
)
def test_nothing_but_the_packages_own_plain_classes_is_loaded(evil: Any) -> None:
    with pytest.raises(snapshot.SnapshotError, match="no machine holds"):
        snapshot.restored(pickle.dumps(evil))


def test_a_class_that_a_file_has_only_imported_is_not_loaded_through_it() -> None:
    with pytest.raises(snapshot.SnapshotError, match=r"names podherd\.wire\.codec\.WireError"):
        snapshot.restored(b"cpodherd.wire.codec\nWireError\n.")


@pytest.mark.parametrize("data", [b"", b"\x80\x05", b"garbage", pickle.dumps([1])[:-1]])
def test_bytes_that_are_no_machine_are_an_error(data: bytes) -> None:
    with pytest.raises(snapshot.SnapshotError):
        snapshot.restored(data)


def test_a_machine_that_cannot_be_written_is_an_error() -> None:
    with pytest.raises(snapshot.SnapshotError, match="cannot be written"):
        snapshot.taken(lambda: None)
