"""Journals of every actor, and what a disk, an editor or a stranger may make of their files."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgpack
from tests.journal.kept import Kept, journal_of
from tests.journal.test_replay import OTHERS, SHARD, whole
from tests.machines.pod import builders

from podherd.journal.inputs import events_of
from podherd.machines.pod.events import SandboxFailed, Started, StartFailed, Synced
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.sources.events import OriginBad, OriginRead, StaticPod
from podherd.steps.deeds import Deed
from podherd.wire import codec
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.observed import ObservedRoster
from podherd.wire.routes import SOURCES
from podherd.wire.status import PodEvent

LENIENT: dict[str, Any] = {"use_list": False, "strict_map_key": False, "unicode_errors": "surrogatepass"}
ALIEN: tuple[Any, ...] = (
    None, True, -1, 7, 2**63, 1e300, float("nan"), float("inf"), "", "x", "\udcff", b"", b"\xc1", (), (1,), ((),), {},
    {"a": 1}, (3, "u1"), (0, 1, 2, 3), ({},),
)  # fmt: skip


def write_all(top: Path) -> None:
    """One file of each actor. The shard's and the sources' tell of the pod default/web."""
    for actor, (machine, schedule) in OTHERS.items():
        kept = Kept(actor, machine(), top)
        if actor == SOURCES:
            _wants(kept)
        schedule(kept, Random(1))
        kept.journal.close()
    _write_shard(top)


def _wants(kept: Kept) -> None:
    """Of the sources: the pod, and trouble with its manifest."""
    body = codec.pack(dict(whole(builders.pod()).body))
    kept.handle(builders.T0, OriginRead("file", "/m/web.yaml", (StaticPod("u1", "default", "web", "c", body),)))
    kept.handle(builders.T0 + 1, OriginBad("file", "/m/web.yaml", "cannot be read", False))


def _write_shard(top: Path) -> None:
    machine = ShardMachine(builders.POLICY)
    journal = journal_of(SHARD, machine, top, at=builders.T0)
    at = builders.T0
    body = codec.pack(dict(whole(builders.pod()).body))
    views = [builders.observed(at, [builders.sandbox()], [each]) for each in (builders.container(), builders.exited())]
    turns: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
        ((), (builders.READY, Roster((), True), ObservedRoster((), at))),
        ((), (Desired("u1", "default", "web", "file", body, "file created"),)),
        ((Synced("u1", 1, at + 2, (SandboxFailed("no"), StartFailed("main", "Bad", "no")), did=False),), ()),
        ((Synced("u1", 2, at + 3, (Started("main", "c1", 0),), did=True),), (views[0],)),
        ((), (views[1],)),
        ((), (Gone("u1", "default", "web", "file removed"),)),
    ]
    for own, messages in turns:
        at += 1
        frame = codec.encode("sources", messages) if messages else b""
        heard = events_of(SHARD, codec.decode(frame).messages) if frame else []
        journal.turn(at, own, frame, machine.handle(at, *own, *heard))
        journal.use(at, builders.POLICY)
        machine.use(builders.POLICY)
        journal.deed(Deed("u1", "default", "web", "CreateContainer", "main", at, 0.1, "c1"))
        journal.event(PodEvent("u1", "default", "web", "", at, "Warning", "Failed", "no"))
    journal.close()


def flipped(data: bytes, dice: Random) -> bytes:
    """With some other bytes."""
    new = bytearray(data)
    for _ in range(dice.randrange(1, 9)):
        new[dice.randrange(len(new))] = dice.randrange(256)
    return bytes(new)


def cut(data: bytes, dice: Random) -> bytes:
    """Without a piece in the midst."""
    first = dice.randrange(len(data))
    return data[:first] + data[first + dice.randrange(1, 40) :]


def doubled(data: bytes, dice: Random) -> bytes:
    """With a piece of itself in a strange place."""
    first, place = dice.randrange(len(data)), dice.randrange(len(data))
    return data[:place] + data[first : first + dice.randrange(1, 200)] + data[place:]


def mistyped(data: bytes, dice: Random) -> bytes:
    """Whole entries, one of them with a value that does not belong there: at any depth, in a frame too."""
    unpacker = msgpack.Unpacker(**LENIENT)
    unpacker.feed(data)
    entries = list(unpacker)
    number = 0 if dice.random() < 0.1 else dice.randrange(len(entries))
    entries[number] = _spoilt(entries[number], dice)
    return b"".join(msgpack.packb(each, unicode_errors="surrogatepass") for each in entries)


def _spoilt(value: Any, dice: Random) -> Any:
    if isinstance(value, bytes) and value and dice.random() < 0.8:
        try:
            inner = msgpack.unpackb(value, **LENIENT)
        except ValueError:
            return flipped(value, dice)
        return msgpack.packb(_spoilt(inner, dice), unicode_errors="surrogatepass")
    if isinstance(value, tuple) and value and dice.random() < 0.9:
        place = dice.randrange(len(value))
        if dice.random() < 0.1:
            return value[:place] + value[place + 1 :]
        return (*value[:place], _spoilt(value[place], dice), *value[place + 1 :])
    if isinstance(value, dict) and value and dice.random() < 0.9:
        key = dice.choice(list(value))
        return {**value, key: _spoilt(value[key], dice)}
    return dice.choice(ALIEN)


WAYS: tuple[Callable[[bytes, Random], bytes], ...] = (flipped, cut, doubled, mistyped, mistyped, mistyped)
