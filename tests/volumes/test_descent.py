"""Whatever a container does with links and renames, a subPath stays inside its volume."""

import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from podherd.volumes import descent
from podherd.volumes.descent import DEPTH_MAX, LINKS_MAX, open_beneath
from podherd.volumes.errors import VolumeError

TRIES = 2000
"""Of a race; more, until it was run into at all."""


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """A volume beside a directory that nobody may get at; no descriptor is left open."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "dear").write_text("dear")
    path = tmp_path / "volume"
    path.mkdir()
    path.chmod(0o2770)
    before = len(os.listdir("/proc/self/fd"))
    yield path
    assert len(os.listdir("/proc/self/fd")) == before
    assert os.listdir(tmp_path / "outside") == ["dear"]


def opened(volume: Path, path: str) -> str:
    """Where it leads, as the kernel names it."""
    fd = open_beneath(str(volume), path)
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)


@pytest.mark.parametrize("path", ["a/b", "a//b/", "./a/./b"])
def test_what_is_there_is_opened_however_it_is_written(volume: Path, path: str) -> None:
    (volume / "a" / "b").mkdir(parents=True)
    assert opened(volume, path) == str(volume / "a" / "b")


def test_a_file_is_opened_and_the_root_is_too(volume: Path) -> None:
    (volume / "file").write_text("x")
    assert opened(volume, "file") == str(volume / "file")
    assert opened(volume, ".") == str(volume)


def test_missing_directories_get_the_roots_mode_whatever_the_umask(volume: Path) -> None:
    old = os.umask(0o077)
    try:
        assert opened(volume, "a/b/c") == str(volume / "a" / "b" / "c")
    finally:
        os.umask(old)
    for path in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE((volume / path).stat().st_mode) == 0o2770


def test_nothing_is_made_for_who_only_looks(volume: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_beneath(str(volume), "a/b", make=False)
    assert list(volume.iterdir()) == []


def test_links_that_stay_inside_are_followed(volume: Path) -> None:
    (volume / "real" / "deep").mkdir(parents=True)
    (volume / "relative").symlink_to("real")
    (volume / "real" / "up").symlink_to("../other")
    (volume / "other").symlink_to(volume / "real" / "deep")
    assert opened(volume, "relative/deep") == str(volume / "real" / "deep")
    assert opened(volume, "relative/up") == str(volume / "real" / "deep")


def test_a_volume_that_is_itself_behind_a_link_has_absolute_links_inside(volume: Path) -> None:
    (volume / "real").mkdir()
    (volume / "here").symlink_to(volume / "real")
    way = volume.parent / "way"
    way.symlink_to(volume)
    (volume / "named").symlink_to(way / "real")
    assert opened(way, "named") == str(volume / "real")
    assert opened(way, "here") == str(volume / "real")
    way.unlink()


@pytest.mark.parametrize(
    "target", ["/", "/etc", "..", "../outside", "a/../../outside", "../volume2", "/proc/self/root/etc", "../volume"]
)
def test_links_that_lead_out_are_refused(volume: Path, target: str) -> None:
    (volume / "a").mkdir()
    (volume.parent / "volume2").mkdir()
    (volume / "link").symlink_to(target)
    for path in ("link", "link/dear", "link/new"):
        with pytest.raises(VolumeError, match="leads out of the volume"):
            open_beneath(str(volume), path)
    assert os.listdir(volume.parent / "volume2") == []


@pytest.mark.parametrize("path", ["..", "a/../..", "a/../../outside/dear"])
def test_dots_do_not_lead_out(volume: Path, path: str) -> None:
    (volume / "a").mkdir()
    with pytest.raises(VolumeError, match="leads out of the volume"):
        open_beneath(str(volume), path)


def test_a_path_named_like_the_volume_is_not_inside_it(volume: Path) -> None:
    sibling = Path(f"{volume}-sibling")
    sibling.mkdir()
    (volume / "link").symlink_to(sibling)
    with pytest.raises(VolumeError, match="leads out of the volume"):
        open_beneath(str(volume), "link")


def test_links_in_a_circle_and_endless_depths_end(volume: Path) -> None:
    (volume / "one").symlink_to("two")
    (volume / "two").symlink_to("one")
    with pytest.raises(VolumeError, match="too many symlinks"):
        open_beneath(str(volume), "one")
    with pytest.raises(VolumeError, match=f"more than {DEPTH_MAX} directories"):
        open_beneath(str(volume), "d/" * (DEPTH_MAX + 1))
    for number in range(LINKS_MAX):
        (volume / f"l{number}").symlink_to(f"l{number + 1}")
    (volume / f"l{LINKS_MAX}").mkdir()
    assert opened(volume, "l0") == str(volume / f"l{LINKS_MAX}")


def test_a_nul_is_refused(volume: Path) -> None:
    with pytest.raises(VolumeError, match="NUL"):
        open_beneath(str(volume), "a\0b")


def test_nothing_is_below_a_file(volume: Path) -> None:
    (volume / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        open_beneath(str(volume), "file/below")


@pytest.mark.parametrize("kind", ["fifo", "socketless device"])
def test_a_pipe_or_device_is_neither_read_nor_waited_for(volume: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(volume / "odd")
    else:
        os.mknod(volume / "odd", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    assert opened(volume, "odd") == str(volume / "odd")


def test_a_directory_that_becomes_a_link_after_it_was_made_leads_nowhere(
    volume: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.mkdir

    def swapped(name: str, mode: int, *, dir_fd: int) -> None:
        real(name, mode, dir_fd=dir_fd)
        os.rmdir(name, dir_fd=dir_fd)
        os.symlink("../outside", name, dir_fd=dir_fd)

    monkeypatch.setattr(descent.os, "mkdir", swapped)
    with pytest.raises(VolumeError, match="leads out of the volume"):
        open_beneath(str(volume), "new/file")
    assert stat.S_IMODE((volume.parent / "outside").stat().st_mode) != 0o2770


def test_a_directory_swapped_for_a_link_again_and_again_never_leads_out(volume: Path) -> None:
    """The race of CVE-2017-1002101 and CVE-2021-25741, as fast as a thread can run it."""
    (volume / "real" / "sub").mkdir(parents=True)
    (volume / "link").symlink_to("../outside")
    (volume / "swap").symlink_to("real")
    done = threading.Event()

    def attack() -> None:
        while not done.is_set():
            for target in ("../outside", "/", "real"):
                (volume / "next").symlink_to(target)
                with suppress(OSError):  # a directory was made in its place
                    os.replace(volume / "next", volume / "swap")
                (volume / "next").unlink(missing_ok=True)
            with suppress(OSError):
                os.unlink(volume / "swap")
                os.rename(volume / "real", volume / "swap")
            shutil.rmtree(volume / "swap", ignore_errors=True)
            (volume / "real" / "sub").mkdir(parents=True, exist_ok=True)

    attacker = threading.Thread(target=attack)
    attacker.start()
    outcomes: set[str] = set()
    tries = 0
    try:
        while tries < TRIES or ("leads out of the volume" not in outcomes and tries < 100 * TRIES):
            tries += 1
            try:
                where = opened(volume, "swap/sub").removesuffix(" (deleted)")
                assert where.startswith(f"{volume}/")
                outcomes.add("inside")
            except VolumeError as error:
                outcomes.add(error.reason.partition(" (")[0])
            except OSError:
                outcomes.add("moved")
    finally:
        done.set()
        attacker.join()
    assert "leads out of the volume" in outcomes
    assert outcomes <= {"leads out of the volume", "inside", "moved"}
