"""Whatever stands in a journal's files, `story` and `replay` end with words, and what is whole is told."""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.journal.garbled import WAYS, write_all
from tests.journal.kept import journal_of
from tests.journal.test_replay import SHARD

from podherd.agent import cli
from podherd.errors import WireError
from podherd.journal import kinds
from podherd.journal.entries import DEED, FORMAT, HEAD, TURN, USE, JournalError, entries
from podherd.journal.fits import checked
from podherd.journal.replay import replay
from podherd.journal.segments import files
from podherd.journal.story.story import story
from podherd.journal.story.tale import NoStoryError
from podherd.machines.pleg.machine import PlegMachine
from podherd.machines.pleg.rules import Rules
from podherd.machines.pod.instructions import StartContainer
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import Policy
from podherd.steps.deeds import Deed
from podherd.wire.observed import Observed

ROUNDS = 24


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "journal").mkdir()
    write_all(tmp_path / "journal")
    return tmp_path


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("actor", [SHARD, "sources"])
def test_a_story_of_garbled_files_is_told_as_far_as_it_goes(
    actor: str, seed: int, root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dice = Random(seed)
    (path,) = files(root / "journal" / actor)
    whole = path.read_bytes()
    for _ in range(ROUNDS):
        path.write_bytes(dice.choice(WAYS)(whole, dice))
        for form in ("text", "json"):
            code = cli.call(["story", "default/web", "-o", form, "--root-dir", str(root)])
            out, err = capfd.readouterr()
            assert code == 0 or (code == 1 and "no journal tells of it" in err)
            if actor == "sources":  # the shard's file is whole
                assert "CreateContainer" in out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("actor", [SHARD, "sources", "pleg", "node"])
def test_a_replay_of_garbled_files_ends_with_words_and_the_others_are_run(
    actor: str, seed: int, root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    dice = Random(seed)
    (path,) = files(root / "journal" / actor)
    whole = path.read_bytes()
    for _ in range(ROUNDS // 3):
        path.write_bytes(dice.choice(WAYS)(whole, dice))
        code = cli.call(["replay", str(root / "journal")])
        out, err = capfd.readouterr()
        assert code in (0, 1, 2)
        assert (code == 2) == (f"podherd: {path}" in err)
        assert out.count(": the same\n") >= 3


HEAD_ENTRY = (HEAD, FORMAT, SHARD, 1, 1.0, 0, "1", b"", "")


@pytest.mark.parametrize(
    "entry",
    [
        (TURN, "now", (), b"", ()), (TURN, float("nan"), (), b"", ()), (TURN, 1e300, (), b"", ()),
        (TURN, 1.0, 5, b"", ()), (TURN, 1.0, (), "", ()), (TURN, 1.0, (), b"", 7), (TURN, 1.0, (), b"", (7,)),
        (TURN, 1.0, ((),), b"", ()), (TURN, 1.0, ({},), b"", ()), (TURN, 1.0), (TURN, 1.0, (), b"", (), 1),
        (USE, 1.0, Deed("u", "ns", "n", "x", "", 1.0, 0.1)), (DEED, Policy("n")), (DEED, 5), (77, 1), (), ({}, 1),
        (*HEAD_ENTRY[:3], "1", *HEAD_ENTRY[4:]), (HEAD,), (HEAD, {}), (HEAD, FORMAT + 1),
    ],
    ids=repr,
)  # fmt: skip
def test_an_entry_of_other_fields_is_an_error_of_its_file(entry: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.mp"
    pack = kinds.packer().pack
    path.write_bytes(pack(HEAD_ENTRY) + pack(entry))
    with pytest.raises(JournalError) as caught:
        list(entries(path))
    assert caught.value.thing == str(path)


def test_a_head_without_the_field_of_its_code_is_one_of_an_older_journal(tmp_path: Path) -> None:
    path = tmp_path / "x.mp"
    path.write_bytes(kinds.packer().pack(HEAD_ENTRY))
    (head,) = entries(path)
    assert getattr(head, "code", None) == ""


@pytest.mark.parametrize(
    "bad",
    [
        Deed(7, "ns", "n", "x", "", 1.0, 0.1),  # type: ignore[arg-type]
        Deed("u", "ns", "n", "x", "", "1", 0.1),  # type: ignore[arg-type]
        Observed("u", "ns", "n", 1.0, ("s",), ()),  # type: ignore[arg-type]
    ],
)
def test_a_field_of_another_type_is_an_error_wherever_it_was_read(bad: Any) -> None:
    with pytest.raises(WireError, match="has no such"):
        checked(bad)
    with pytest.raises(WireError):
        kinds.built(kinds.plain(bad))


def test_a_pod_of_which_only_a_spoilt_file_may_tell_is_unknown_and_the_file_is_named(root: Path) -> None:
    (path,) = files(root / "journal" / SHARD)
    path.write_bytes(b"plain text")
    with pytest.raises(NoStoryError) as caught:
        story(root, "job")
    assert caught.value.notes == (f"{SHARD}: {path.name}: is no journal of podherd",)


@pytest.mark.parametrize(
    ("actor", "machine", "words"),
    [
        (SHARD, PlegMachine(Rules(1)), "holds a PlegMachine in place of a ShardMachine"),
        (SHARD, {"no": "machine"}, "holds a dict in place of a ShardMachine"),
        ("server", ShardMachine(Policy("n1")), "'server', an actor that has no machine"),
    ],
)
def test_a_snapshot_of_something_else_is_refused(actor: str, machine: Any, words: str, tmp_path: Path) -> None:
    journal_of(actor, machine, tmp_path).close()
    with pytest.raises(JournalError, match=words):
        replay(files(tmp_path / actor))


def test_what_other_code_wrote_under_the_same_version_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = files(root / "journal" / SHARD)
    assert replay(paths).notes == []
    monkeypatch.setattr(kinds, "fingerprint", lambda: "0123456789ab")
    assert replay(paths).notes == [f"{paths[0].name}: written by other code; differences may come from that"]


def test_the_fingerprint_of_code_changes_with_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Wider(StartContainer):
        more: int = 0

    Wider.__name__ = StartContainer.__name__
    before = kinds.fingerprint.__wrapped__()
    others = [Wider if kind is StartContainer else kind for kind in kinds._KINDS]
    monkeypatch.setattr(kinds, "_KINDS", tuple(others))
    assert kinds.fingerprint.__wrapped__() != before
