"""The writer: bounded, private, and of no harm to its actor whatever happens to its files."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.journal.kept import NoTimer, journal_of

from podherd.journal import journal as module
from podherd.journal.entries import Head, Turn, entries
from podherd.journal.journal import Journal, NoJournal, directory_of, opened
from podherd.journal.segments import MOST_FILES, Segments, files, new_life
from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import ServerStarted
from podherd.model.settings import Settings
from podherd.steps.deeds import Deed

MIB = 1 << 20


def settings(root: Path, journal_mb: int = 1) -> Settings:
    return Settings(node_name="n1", root_dir=root, runtime_endpoint="unix:///x", journal_mb=journal_mb)


def size(directory: Path) -> int:
    return sum(path.stat().st_size for path in files(directory))


def turns(directory: Path) -> list[float]:
    return [entry.at for path in files(directory) for entry in entries(path) if isinstance(entry, Turn)]


def test_all_files_together_stay_within_their_size_and_the_newest_turns_are_kept(tmp_path: Path) -> None:
    most = 100_000
    journal = journal_of("sources", SourcesMachine(1, ()), tmp_path, most)
    for at in range(3000):
        journal.turn(float(at), (ServerStarted(),) * 20, b"x" * 100, ())
        if at % 100 == 0:
            assert size(tmp_path / "sources") <= most
    journal.close()
    assert size(tmp_path / "sources") <= most
    kept = turns(tmp_path / "sources")
    assert kept == [float(at) for at in range(3000 - len(kept), 3000)]
    assert len(kept) * 150 > most / 2


def test_a_large_frame_drops_older_files_and_not_itself(tmp_path: Path) -> None:
    journal = journal_of("sources", SourcesMachine(1, ()), tmp_path, 100_000)
    for at in range(500):
        journal.turn(float(at), (), b"x" * 200, ())
    journal.turn(500.0, (), b"x" * 60_000, ())
    journal.close()
    assert turns(tmp_path / "sources")[-1] == 500.0
    assert size(tmp_path / "sources") <= 100_000


def test_lives_that_end_at_once_do_not_fill_the_directory(tmp_path: Path) -> None:
    for _ in range(3 * MOST_FILES):
        journal_of("sources", SourcesMachine(1, ()), tmp_path, MIB).close()
    assert len(files(tmp_path / "sources")) <= MOST_FILES


def test_a_clock_that_was_set_back_begins_no_life_before_the_last_one(tmp_path: Path) -> None:
    (tmp_path / "002000000000000-00000.mp").touch()
    assert new_life(tmp_path, 1_000.0) == 2_000_000_000_001
    assert new_life(tmp_path, 3_000_000_000.0) == 3_000_000_000_000


async def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    journal = opened(settings(tmp_path), "sources", SourcesMachine(1, ()), 5.0, lambda *_: None)
    journal.close()
    top = directory_of(tmp_path)
    (file,) = files(top / "sources")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (top, top / "sources", file)]
    assert modes == [0o700, 0o700, 0o600]
    (head,) = entries(file)
    assert isinstance(head, Head)
    assert (head.actor, head.at, head.turns) == ("sources", 5.0, 0)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    (tmp_path / "j").mkdir()
    (tmp_path / "j" / f"{7:015d}-00000.mp").symlink_to(target)
    with pytest.raises(OSError, match="exists"):
        Segments(tmp_path / "j", 7, MIB).next()
    assert not target.exists()


@pytest.mark.parametrize("why", ["missing", "a file"])
def test_a_directory_that_cannot_be_had_is_said_once_and_nothing_is_kept(why: str, tmp_path: Path) -> None:
    root = tmp_path / "root"
    if why == "a file":
        root.mkdir()
        (root / "journal").touch()
    said: list[str] = []
    journal = opened(settings(root), "sources", object(), 0.0, lambda what, reason: said.append(f"{what}: {reason}"))
    assert isinstance(journal, NoJournal)
    (words,) = said
    assert words.startswith("journal is off: ")
    assert why != "missing" or not root.exists()


def test_none_is_kept_where_none_is_wanted(tmp_path: Path) -> None:
    journal = opened(settings(tmp_path, 0), "sources", object(), 0.0, lambda *_: pytest.fail("nothing to say"))
    assert isinstance(journal, NoJournal)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_turns_it_off_with_one_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[tuple[str, str]] = []
    journal = journal_of("sources", SourcesMachine(1, ()), tmp_path, MIB, said)

    def full(_file: int, _data: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "FULL_BYTES", 100)
    monkeypatch.setattr(os, "write", full)
    for at in range(50):
        journal.turn(float(at), (), b"x" * 50, ())
    journal.deed(Deed("u", "ns", "n", "StopContainer", "c", 0.0, 0.1))
    journal.close()
    assert said == [("journal is off", "No space left on device")]


def test_what_cannot_be_packed_turns_it_off_and_harms_nobody(tmp_path: Path) -> None:
    said: list[tuple[str, str]] = []
    journal = journal_of("sources", SourcesMachine(1, ()), tmp_path, MIB, said)
    journal.turn(1.0, (object(),), b"", ())
    journal.turn(2.0, (), b"", ())
    journal.close()
    assert len(said) == 1
    assert "object is not registered" in said[0][1]


def test_what_waits_is_written_after_a_while_by_one_timer(tmp_path: Path) -> None:
    calls: list[tuple[float, Callable[[], None]]] = []

    def later(delay_s: float, call: Callable[[], None]) -> NoTimer:
        calls.append((delay_s, call))
        return NoTimer()

    (tmp_path / "j").mkdir()
    journal = Journal("sources", SourcesMachine(1, ()), Segments(tmp_path / "j", 1, MIB), 1, lambda *_: None, later)
    journal.begin(0.0)
    for at in range(5):
        journal.turn(float(at), (), b"", ())
    assert len(calls) == 1
    assert size(tmp_path / "j") == 0
    calls[0][1]()
    assert turns(tmp_path / "j") == [0.0, 1.0, 2.0, 3.0, 4.0]
    journal.turn(5.0, (), b"", ())
    assert len(calls) == 2
    journal.close()
    assert turns(tmp_path / "j")[-1] == 5.0
