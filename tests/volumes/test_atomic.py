"""Files that change all at once."""

import os
import stat
import threading
from pathlib import Path

import pytest

from podherd.volumes.atomic import DATA, File, clean, write
from podherd.volumes.errors import VolumeError


def files(mode: int = 0o644, **contents: str) -> dict[str, File]:
    return {name.replace("__", "/"): File(text.encode(), mode) for name, text in contents.items()}


def shown(volume: Path) -> list[str]:
    """What a container sees at the top, bookkeeping apart."""
    return sorted(path.name for path in volume.iterdir() if not path.name.startswith(".."))


def versions(volume: Path) -> list[str]:
    return sorted(path.name for path in volume.iterdir() if path.name.startswith("..2"))


def test_files_stand_behind_one_link(tmp_path: Path) -> None:
    assert write(str(tmp_path), files(a="1", sub__deep__b="2"))
    assert os.readlink(tmp_path / "a") == "..data/a"
    assert os.readlink(tmp_path / "sub") == "..data/sub"
    assert [os.readlink(tmp_path / DATA)] == versions(tmp_path)
    assert (tmp_path / "sub" / "deep" / "b").read_text() == "2"
    assert shown(tmp_path) == ["a", "sub"]
    assert stat.S_IMODE((tmp_path / DATA).stat().st_mode) == 0o755


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_are_as_told_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        write(str(tmp_path), files(0o604, a="1", sub__b="2"))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o604
    assert stat.S_IMODE((tmp_path / "sub" / "b").stat().st_mode) == 0o604


def test_equal_bytes_are_not_written_again_nor_are_modes(tmp_path: Path) -> None:
    write(str(tmp_path), files(a="1"))
    before = versions(tmp_path)
    assert not write(str(tmp_path), files(0o600, a="1"))
    assert versions(tmp_path) == before
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_an_update_replaces_all_and_removes_what_is_no_more(tmp_path: Path) -> None:
    write(str(tmp_path), files(a="1", b="2", sub__c="3"))
    (old,) = versions(tmp_path)
    assert write(str(tmp_path), files(a="9", sub__d="4"))
    assert shown(tmp_path) == ["a", "sub"]
    assert (tmp_path / "a").read_text() == "9"
    assert os.listdir(tmp_path / "sub") == ["d"]
    assert old not in versions(tmp_path)
    assert len(versions(tmp_path)) == 1


def test_no_files_is_an_empty_volume(tmp_path: Path) -> None:
    assert write(str(tmp_path), {})
    assert shown(tmp_path) == []
    assert not write(str(tmp_path), {})


def test_a_version_is_published_before_it_is_shown(tmp_path: Path) -> None:
    write(str(tmp_path), files(a="1"))
    seen: list[tuple[str, str]] = []

    def publish(version: str) -> None:
        seen.append((Path(version, "a").read_text(), (tmp_path / "a").read_text()))

    write(str(tmp_path), files(a="2"), publish)
    assert seen == [("2", "1")]


def test_a_failure_before_publishing_shows_the_old_version_and_the_next_write_sweeps_up(tmp_path: Path) -> None:
    def fail(_version: str) -> None:
        raise OSError(28, "No space left on device")

    write(str(tmp_path), files(a="1"))
    with pytest.raises(OSError, match="No space"):
        write(str(tmp_path), files(a="2"), fail)
    assert (tmp_path / "a").read_text() == "1"
    write(str(tmp_path), files(a="3"))
    assert (tmp_path / "a").read_text() == "3"
    assert len(versions(tmp_path)) == 1


@pytest.mark.parametrize("left", ["link", "links", "version", "data"])
def test_what_a_crash_left_half_done_is_finished(tmp_path: Path, left: str) -> None:
    write(str(tmp_path), files(a="1", b="2"))
    if left == "link":
        (tmp_path / "..data_tmp").symlink_to("..2020_01_01_00_00_00.gone")
    elif left == "links":
        (tmp_path / "a").unlink()
        (tmp_path / "stale").symlink_to("..data/stale")
    elif left == "version":
        (tmp_path / "..2020_01_01_00_00_00.x").mkdir()
    else:
        for name in versions(tmp_path):
            (tmp_path / name).rename(tmp_path / "..2020_01_01_00_00_00.moved")
    write(str(tmp_path), files(a="1", b="2"))
    assert [(tmp_path / name).read_text() for name in shown(tmp_path)] == ["1", "2"]
    assert len(versions(tmp_path)) == 1
    assert not (tmp_path / "..data_tmp").is_symlink()


def test_a_reader_never_sees_half_a_change(tmp_path: Path) -> None:
    write(str(tmp_path), files(a="0", b="0"))
    seen: set[tuple[str, str]] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            fd = -1
            try:
                fd = os.open(tmp_path / DATA, os.O_RDONLY)
                pair = tuple(Path(f"/proc/self/fd/{fd}/{name}").read_text() for name in ("a", "b"))
                seen.add(pair)  # type: ignore[arg-type]
            except FileNotFoundError:
                continue
            finally:
                if fd >= 0:
                    os.close(fd)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for number in range(200):
            write(str(tmp_path), files(a=str(number), b=str(number)))
    finally:
        done.set()
        reader.join()
    assert seen
    assert all(a == b for a, b in seen)


@pytest.mark.parametrize(
    "path", ["/abs", "..", "../up", "a/../b", "..hidden", "", "a\0b", ".", "a/" + "n" * 256, "x/" * 2100]
)
def test_paths_that_lead_elsewhere_are_refused_before_anything_is_written(tmp_path: Path, path: str) -> None:
    with pytest.raises(VolumeError):
        write(str(tmp_path), {"good": File(b"", 0o644), path: File(b"", 0o644)})
    assert list(tmp_path.iterdir()) == []


def test_paths_are_taken_in_their_plain_form(tmp_path: Path) -> None:
    assert [clean(path) for path in ("a//b", "./a", "a/..b", "a/.")] == ["a/b", "a", "a/..b", "a"]
    write(str(tmp_path), {"./a//b": File(b"1", 0o644)})
    assert (tmp_path / "a" / "b").read_text() == "1"


def test_a_name_that_is_a_file_and_a_directory_is_an_error_in_the_same_words_every_time(tmp_path: Path) -> None:
    with pytest.raises(VolumeError, match="path 'a/b': 'a' is a file of the same volume"):
        write(str(tmp_path), files(a="1", a__b="2"))
    assert shown(tmp_path) == []
