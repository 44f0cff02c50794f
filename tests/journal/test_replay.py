"""A journal run again decides the same; a machine that decides otherwise is found at the turn where it does."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.journal.kept import Kept, journal_of, replayed
from tests.kit.pods import pod as whole_pod
from tests.machines.pleg.conftest import Shell as PlegShell
from tests.machines.pod import builders, test_schedules, world

from podherd.journal import kinds
from podherd.journal.entries import TURN, Head, JournalError, entries
from podherd.journal.replay import journals, replay
from podherd.journal.segments import Segments, files
from podherd.machines.capacity import Amounts
from podherd.machines.node import Facts
from podherd.machines.node_events import Addresses, Looked, NotLooked, Refused, ServerStarted, ShardStarted
from podherd.machines.node_machine import NodeMachine
from podherd.machines.pleg.events import Stopped
from podherd.machines.pleg.events import Woke as PlegWoke
from podherd.machines.pleg.machine import PlegMachine
from podherd.machines.pleg.rules import Rules
from podherd.machines.pod.events import SandboxFailed, Synced, Wanted, Woke
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import Policy
from podherd.machines.sources import SourcesMachine
from podherd.machines.sources import events as sources_events
from podherd.model.pod import Pod
from podherd.wire import codec
from podherd.wire.control import Ask, Hello
from podherd.wire.desired import Desired, Roster
from podherd.wire.node import PlegHealth
from podherd.wire.observed import ObservedRoster, Reinspect

SHARD = "pod_shard-0"


def test_a_file_that_begins_with_anything_but_its_head_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "x.mp"
    path.write_bytes(kinds.packer().pack((TURN, 1.0, (), b"", ())))
    with pytest.raises(JournalError, match="no journal of podherd"):
        list(entries(path))


def whole(of: Pod) -> Pod:
    """The pod with a body from which it can be made again, as every body that travels is."""
    spec = {
        "restartPolicy": of.restart_policy,
        "terminationGracePeriodSeconds": of.grace_s,
        "hostNetwork": of.host_network,
        "containers": [dict(each.body) for each in of.containers],
    }
    notes = {"kubernetes.io/config.source": of.source}
    return whole_pod(spec, name=of.name, namespace=of.namespace, uid=of.uid, annotations=notes)


def run_world(
    root: Path, monkeypatch: pytest.MonkeyPatch, seed: int, least: int = 60, without: tuple[str, ...] = ()
) -> list[Kept]:
    """A random schedule of a whole pretend node of at least so many steps; every life of its shard is kept."""
    lives: list[Kept] = []

    def machine(policy: Policy) -> Kept:
        lives.append(Kept(SHARD, ShardMachine(policy), root))
        return lives[-1]

    monkeypatch.setattr(world, "ShardMachine", machine)
    dice = Random(seed)
    steps = [step for step in (*test_schedules.STEPS, *test_schedules.OFTEN) if step not in without]
    test_schedules.run([(dice.choice(steps), dice.randrange(16)) for _ in range(dice.randrange(least, least + 140))])
    for life in lives:
        life.journal.close()
    return lives


@pytest.mark.parametrize("seed", range(12))
def test_any_schedule_of_a_shard_is_replayed_the_same(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lives = run_world(tmp_path, monkeypatch, seed)
    outcome = replayed(tmp_path, SHARD)
    assert outcome.differs is None
    assert outcome.notes == []
    assert outcome.turns == sum(life.turns for life in lives) > 50


def test_every_file_of_a_journal_is_replayed_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Segments, "part_bytes", property(lambda _self: 16_000))
    lives = run_world(tmp_path, monkeypatch, 3, 500, without=("restart shard", "drain"))
    paths = files(tmp_path / SHARD)
    assert len(paths) > len(lives) + 3
    turns = 0
    for path in paths:
        outcome = replay([path])
        assert (outcome.differs, outcome.notes) == (None, [])
        turns += outcome.turns
    assert turns == sum(life.turns for life in lives)


def run_pleg(kept: Kept, dice: Random) -> None:
    shell = PlegShell(Rules(shards=2))
    shell.machine = kept  # type: ignore[assignment]
    shell.look_s = lambda uid: 12.0 if uid == "p3" and dice.random() < 0.2 else dice.random() / 5
    shell.hear(PlegWoke())
    for step in range(120):
        uid = f"p{dice.randrange(5)}"
        shell.pods.setdefault(uid, {})[f"{uid}-{dice.randrange(3)}"] = dice.choice(["ready", "running", "exited"])
        if dice.random() < 0.3:
            shell.pods.pop(uid)
        shell.list_fails = "no" if dice.random() < 0.1 else ""
        hint = Stopped(uid, f"{uid}-0"), Reinspect(uid, "ns", uid, shell.now), Hello("pod_shard-1")
        shell.hear(dice.choice(hint))
        shell.run(dice.random() if step % 40 else -5.0)


def run_sources(kept: Kept, dice: Random) -> None:
    bodies = [
        sources_events.StaticPod(f"u{n}", "ns", f"p{n % 3}", f"c{n}", codec.pack({"metadata": _metadata(f"u{n}")}))
        for n in range(6)
    ]
    kept.handle(1.0, sources_events.Started())
    for at in range(100):
        origin = f"/m/{dice.randrange(4)}.yaml"
        pods = tuple(dice.sample(bodies, dice.randrange(3)))
        kept.handle(
            2.0 + at,
            dice.choice(
                [
                    sources_events.OriginRead("file", origin, pods, ("odd",) * dice.randrange(2)),
                    sources_events.OriginRead("http", "http://x", pods),
                    sources_events.OriginBad("file", origin, "cannot be read", bool(dice.randrange(2))),
                    sources_events.OriginGone("file", origin),
                    sources_events.SourceListed(dice.choice(["file", "http"])),
                    sources_events.ShardStarted(dice.randrange(2)),
                    sources_events.ServerStarted(),
                    sources_events.Noted("/m", dice.choice(["", "missing"])),
                ]
            ),
        )


def _metadata(uid: str) -> dict[str, Any]:
    return {"uid": uid, "annotations": {"kubernetes.io/config.seen": "now", "kubernetes.io/config.hash": uid}}


def run_node(kept: Kept, dice: Random) -> None:
    for at in range(200):
        kept.handle(
            at * 4.0,
            dice.choice(
                [
                    Looked("hollow://1", dice.choice(["", "not yet"]), dice.choice(["", "no cni"]), "systemd"),
                    NotLooked(),
                    Refused("it does not speak CRI v1"),
                    PlegHealth(at * 3.0, 0.1, at, at, ()),
                    ShardStarted(SHARD),
                    ServerStarted(),
                ]
            ),
            *[Addresses((f"192.0.2.{dice.randrange(3)}",))] * dice.randrange(2),
        )


FACTS = Facts("n", "n", (), Amounts(2, 2**30, 2**30, 110), {"operatingSystem": "linux", "architecture": "amd64"})
OTHERS: dict[str, tuple[Callable[[], Any], Callable[[Kept, Random], None]]] = {
    "pleg": (lambda: PlegMachine(Rules(shards=2)), run_pleg),
    "sources": (lambda: SourcesMachine(2, ("file", "http")), run_sources),
    "node": (lambda: NodeMachine(FACTS, "cgroupfs"), run_node),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("actor", OTHERS)
def test_any_schedule_of_the_other_machines_is_replayed_the_same(actor: str, seed: int, tmp_path: Path) -> None:
    machine, schedule = OTHERS[actor]
    kept = Kept(actor, machine(), tmp_path, 128_000)
    schedule(kept, Random(seed))
    kept.journal.close()
    outcome = replayed(tmp_path, actor)
    assert (outcome.differs, outcome.notes) == (None, [])
    assert outcome.instructions > 20


def fails_once(root: Path) -> None:
    """Turn 3: the sandbox could not be made, and is tried again after the policy's pause."""
    kept = Kept(SHARD, ShardMachine(builders.POLICY), root)
    kept.handle(builders.T0, builders.READY, Roster((), True), ObservedRoster((), builders.T0))
    kept.handle(builders.T0 + 1, Wanted(whole(builders.pod()), "file created"))
    failed = Synced("u1", 1, builders.T0 + 2, (SandboxFailed("no"),), did=False)
    kept.handle(builders.T0 + 2, failed)
    kept.handle(builders.T0 + 3, Woke("u1"))
    kept.journal.close()


def test_a_machine_that_decides_otherwise_is_found_at_the_first_turn_where_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_once(tmp_path)
    assert replayed(tmp_path, SHARD).differs is None
    monkeypatch.setattr(Policy, "retry_after_s", lambda _self, _uid: 7.0)
    outcome = replayed(tmp_path, SHARD)
    assert outcome.differs is not None
    assert (outcome.differs.turn, outcome.differs.at, outcome.differs.heard) == (3, builders.T0 + 2, ("Synced",))
    found = outcome.differs.difference
    assert found.where == "WakeAt.at of u1"
    assert found.got == repr(builders.T0 + 9)
    assert found.expected != found.got


def test_an_instruction_more_or_less_is_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_once(tmp_path)
    handle = ShardMachine.handle
    monkeypatch.setattr(ShardMachine, "handle", lambda *words: [*handle(*words), *handle(*words)][:1])
    outcome = replayed(tmp_path, SHARD)
    assert outcome.differs is not None
    assert outcome.differs.turn == 2
    assert "nothing" in (outcome.differs.difference.got, outcome.differs.difference.expected)


def test_a_machine_that_throws_today_is_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_once(tmp_path)

    def throws(*_words: Any) -> None:
        raise ValueError("oh")

    monkeypatch.setattr(ShardMachine, "handle", throws)
    outcome = replayed(tmp_path, SHARD)
    assert outcome.differs is not None
    assert "ValueError: oh" in outcome.differs.difference.got


def test_a_new_policy_is_an_input_too(tmp_path: Path) -> None:
    machine = ShardMachine(builders.POLICY)
    journal = journal_of(SHARD, machine, tmp_path)
    ready = (builders.READY, Roster((), True), ObservedRoster((), builders.T0))
    policy = replace(builders.POLICY, retry_s=40.0, host_ips=("192.0.2.9",))
    failed = Synced("u1", 1, builders.T0 + 2, (SandboxFailed("no"),), did=False)
    for at, events in enumerate([ready, (Wanted(whole(builders.pod()), "x"),), (failed,)]):
        if at == 1:
            journal.use(builders.T0 + at, policy)
            machine.use(policy)
        now = builders.T0 + at
        journal.turn(now, events, b"", machine.handle(now, *events))
    journal.close()
    assert replayed(tmp_path, SHARD).differs is None


def test_a_frame_is_kept_as_it_came_and_heard_again_without_its_questions(tmp_path: Path) -> None:
    machine = ShardMachine(builders.POLICY)
    journal = journal_of(SHARD, machine, tmp_path)
    body = codec.pack(dict(whole(builders.pod()).body))
    frame = codec.encode(
        "sources",
        [
            builders.READY, Roster((), True), ObservedRoster((), builders.T0), Hello("server"), Ask(1, "pod", b""),
            Desired("u1", "default", "web", "file", body, "file created"),
            Desired("u2", "default", "odd", "file", b"\xc1", "file created"),
        ],
    )  # fmt: skip
    from podherd.journal.inputs import events_of

    told = machine.handle(builders.T0, Woke("u9"), *events_of(SHARD, codec.decode(frame).messages))
    journal.turn(builders.T0, [Woke("u9")], frame, told)
    journal.close()
    outcome = replayed(tmp_path, SHARD)
    assert (outcome.differs, outcome.turns, outcome.instructions) == (None, 1, len(told))


@pytest.mark.parametrize("cut", [1, 2, 30, 200])
def test_a_torn_tail_is_left_out_with_a_word(cut: int, tmp_path: Path) -> None:
    fails_once(tmp_path)
    (path,) = files(tmp_path / SHARD)
    path.write_bytes(path.read_bytes()[:-cut])
    outcome = replayed(tmp_path, SHARD)
    assert outcome.differs is None
    assert 1 <= outcome.turns < 4
    (note,) = outcome.notes
    assert "not whole" in note


def test_a_tail_of_zeros_is_left_out_with_a_word(tmp_path: Path) -> None:
    """What a file system may show of a write that a crash of the host cut off."""
    fails_once(tmp_path)
    (path,) = files(tmp_path / SHARD)
    path.write_bytes(path.read_bytes() + bytes(100))
    outcome = replayed(tmp_path, SHARD)
    assert (outcome.turns, outcome.differs) == (4, None)
    assert "100 bytes" in outcome.notes[0]


@pytest.mark.parametrize("data", [b"", b"{}", b"\x00\x00", b"plain text", b"\x93\x01\x02\x03"])
def test_a_file_that_is_no_journal_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.mp"
    path.write_bytes(data)
    if data:
        with pytest.raises(JournalError, match="no journal"):
            replay([path])
    else:  # an actor that died before its first flush
        assert replay([path]).turns == 0


def test_journals_are_found_by_file_by_actor_and_by_root(tmp_path: Path) -> None:
    fails_once(tmp_path)
    (path,) = files(tmp_path / SHARD)
    assert journals(path) == journals(tmp_path / SHARD) == journals(tmp_path) == [[path]]
    (tmp_path / "empty").mkdir()
    for nothing in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(JournalError):
            [replay(each) for each in journals(nothing)]


def test_a_machine_too_large_for_a_file_is_left_out_and_said_once(tmp_path: Path) -> None:
    said: list[tuple[str, str]] = []
    machine = SourcesMachine(1, ())
    journal = journal_of("sources", machine, tmp_path, 40_000, said)
    for at in range(40):
        body = codec.pack({"metadata": _metadata("u"), "x": "y" * 900})
        pod = sources_events.StaticPod(f"u{at}", "ns", f"p{at}", "c", body)
        event = sources_events.OriginRead("file", f"/{at}", (pod,))
        journal.turn(float(at), (event,), b"", machine.handle(float(at), event))
    journal.close()
    (words,) = said
    assert "raise journalMB" in words[1]
    heads = [head for path in files(tmp_path / "sources") for head in entries(path) if isinstance(head, Head)]
    assert [bool(head.snapshot) for head in heads].count(True) <= 2
    outcome = replayed(tmp_path, "sources")
    assert outcome.differs is None
    assert "cannot be replayed" in outcome.notes[0]
