"""emptyDir and hostPath on real directories and mounts."""

import contextlib
import os
import resource
import socket
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kit.volumes import make_pod, make_site, mounts_below

from podherd.model.pod import Pod
from podherd.volumes import registry
from podherd.volumes.empty_dir import page_size_bytes, tmpfs_size_bytes
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import is_mount, mount, unmount
from podherd.volumes.removal import QUICK_BYTES, QUICK_ENTRIES, remove_tree, unmount_own


def make_empty(pod_dir: str, source: dict[str, Any], owner: Pod | None = None, name: str = "v") -> str:
    return registry.prepare(make_site(pod_dir, owner), {"name": name, "emptyDir": source}).path


def host(path: Path | str, kind: str = "") -> str:
    return registry.prepare(make_site(), {"name": "v", "hostPath": {"path": str(path), "type": kind}}).path


def test_an_empty_dir_is_open_to_every_user_whatever_the_umask(pod_dir: str) -> None:
    old = os.umask(0o077)
    try:
        path = make_empty(pod_dir, {})
    finally:
        os.umask(old)
    assert path == f"{pod_dir}/volumes/kubernetes.io~empty-dir/v"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o777


def test_an_empty_dir_keeps_its_content_when_prepared_again(pod_dir: str) -> None:
    path = make_empty(pod_dir, {})
    Path(path, "kept").write_text("x")
    assert make_empty(pod_dir, {}) == path
    assert Path(path, "kept").read_text() == "x"


def test_memory_is_a_tmpfs_of_the_size_limit_mounted_once(pod_dir: str, tmp_path: Path) -> None:
    source = {"medium": "Memory", "sizeLimit": "4Mi"}
    path = make_empty(pod_dir, source)
    Path(path, "kept").write_text("x")
    make_empty(pod_dir, source)
    ((target, kind, options),) = mounts_below(tmp_path)
    assert (target, kind) == (path, "tmpfs")
    assert "size=4096k" in options.split(",")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o777
    assert Path(path, "kept").read_text() == "x"


def test_own_mounts_go_before_the_pods_directory_does(pod_dir: str, tmp_path: Path) -> None:
    make_empty(pod_dir, {"medium": "Memory", "sizeLimit": "1Mi"}, name="a")
    make_empty(pod_dir, {}, name="b")
    with pytest.raises(VolumeError, match="another file system is mounted here"):
        remove_tree(pod_dir)
    unmount_own(pod_dir)
    unmount_own(pod_dir)
    assert mounts_below(tmp_path) == []
    remove_tree(pod_dir)
    remove_tree(pod_dir)
    assert not os.path.exists(pod_dir)


def test_a_directory_whose_name_no_file_can_have_is_gone(tmp_path: Path) -> None:
    assert remove_tree(str(tmp_path / f"default_{'n' * 253}_u1"), quick=True)


def test_a_bind_mount_of_the_same_file_system_is_not_crossed(pod_dir: str, tmp_path: Path) -> None:
    dear = tmp_path / "dear"
    dear.mkdir()
    (dear / "file").write_text("kept")
    bound = Path(pod_dir, "volumes", "bound")
    bound.mkdir(parents=True)
    subprocess.run(["mount", "--bind", dear, bound], check=True)
    with pytest.raises(VolumeError, match="another file system is mounted here"):
        remove_tree(pod_dir)
    assert (dear / "file").read_text() == "kept"


@pytest.fixture
def few_files() -> Iterator[None]:
    """A process that may have but few more files open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 8, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("few_files")
def test_directories_of_any_depth_are_removed_with_a_few_descriptors(pod_dir: str) -> None:
    fd = os.open(pod_dir, os.O_RDONLY)
    for _ in range(3000):
        for name in ("a", "deep", "z"):
            os.mkdir(name, dir_fd=fd)
        os.close(os.open("file", os.O_CREAT, dir_fd=fd))
        below = os.open("deep", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    assert remove_tree(pod_dir)
    assert not os.path.exists(pod_dir)


def test_a_directory_that_is_moved_away_meanwhile_takes_the_walk_nowhere_else(
    pod_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = Path(pod_dir, "outer", "inner")
    (inner / "leaf").mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "inner" / "dear").mkdir(parents=True)
    real = os.rmdir

    def moving(name: str, **words: Any) -> None:
        real(name, **words)
        if name == "leaf":
            inner.rename(elsewhere / "moved")

    monkeypatch.setattr(os, "rmdir", moving)
    with pytest.raises(VolumeError, match="outer/inner: was moved while it was removed"):
        remove_tree(pod_dir)
    assert (elsewhere / "inner" / "dear").exists()


def test_names_that_are_no_text_stand_escaped_in_errors(pod_dir: str) -> None:
    bound = os.fsencode(pod_dir) + b"/\xff"
    os.mkdir(bound)
    mount("tmpfs", os.fsdecode(bound), "size=64k")
    with pytest.raises(VolumeError) as error:
        remove_tree(pod_dir)
    unmount(os.fsdecode(bound))
    assert f"{pod_dir}/\\udcff: another file system" in str(error.value)
    assert error.value.words.encode()


@pytest.mark.parametrize("much", ["entries", "bytes"])
def test_a_quick_removal_leaves_what_takes_long_to_another_call(pod_dir: str, much: str) -> None:
    below = Path(pod_dir, "web")
    below.mkdir()
    if much == "bytes":
        with (below / "0.log").open("wb") as file:
            file.truncate(QUICK_BYTES + 1)
    else:
        for number in range(QUICK_ENTRIES):
            (below / f"{number}").touch()
    assert not remove_tree(pod_dir, quick=True)
    assert remove_tree(pod_dir)
    below.mkdir(parents=True)
    for number in range(QUICK_ENTRIES - 1):
        (below / f"{number}").touch()
    assert remove_tree(pod_dir, quick=True)
    assert not below.exists()


def test_what_is_no_directory_is_not_removed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(VolumeError):
        remove_tree(str(tmp_path / "link"))
    assert target.is_dir()


def test_is_mount_tells_a_mount_from_a_directory(tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    assert not is_mount(str(here))
    mount("tmpfs", str(here), "size=64k")
    try:
        assert is_mount(str(here))
    finally:
        unmount(str(here))
    with pytest.raises(OSError, match="Invalid argument"):
        unmount(str(here))


@pytest.mark.parametrize(
    ("limits", "size_limit", "size_bytes"),
    [
        ((), None, 1000),
        ((), "600", 600),
        ((), "2000", 1000),
        (({"limits": {"memory": "300"}}, {"limits": {"memory": "200"}}), None, 500),
        (({"limits": {"memory": "300"}}, {}), None, 1000),
        (({"limits": {"memory": "300"}},), "100", 100),
    ],
)
def test_the_size_of_a_tmpfs_is_the_least_limit(limits: Any, size_limit: str | None, size_bytes: int) -> None:
    source = {"sizeLimit": size_limit} if size_limit else {}
    assert tmpfs_size_bytes(make_site(pod=make_pod(*limits), memory_bytes=1000), source) == size_bytes


@pytest.mark.parametrize(("limits", "size_bytes"), [(({},), 800), (({"limits": {"memory": "300"}},), 300)])
def test_a_volume_in_memory_may_not_be_larger_than_what_the_node_has_for_pods(
    limits: tuple[dict[str, Any], ...], size_bytes: int
) -> None:
    site = make_site(pod=make_pod(*limits), memory_bytes=1000)
    site = replace(site, host=replace(site.host, allocatable={"memory": 800}))
    assert tmpfs_size_bytes(site, {}) == size_bytes


def test_huge_pages_need_one_requested_size() -> None:
    asks = make_pod({"requests": {"hugepages-2Mi": "4Mi"}})
    assert page_size_bytes(asks, "v", "HugePages") == page_size_bytes(asks, "v", "HugePages-2Mi") == 2 << 20
    for owner, medium in ((make_pod(), "HugePages"), (asks, "HugePages-1Gi")):
        with pytest.raises(VolumeError, match="exactly one hugepages size"):
            page_size_bytes(owner, "v", medium)


def test_an_unknown_medium_and_an_unknown_kind_are_refused(pod_dir: str) -> None:
    with pytest.raises(VolumeError, match='unknown storage medium "Tape"'):
        make_empty(pod_dir, {"medium": "Tape"})
    with pytest.raises(VolumeError, match="kind nfs is not supported"):
        registry.prepare(make_site(pod_dir), {"name": "v", "nfs": {"server": "s"}})


def test_a_volume_without_a_source_is_an_empty_dir(pod_dir: str) -> None:
    assert registry.prepare(make_site(pod_dir), {"name": "v"}).path.endswith("/kubernetes.io~empty-dir/v")


def test_a_host_path_without_type_is_not_looked_at() -> None:
    assert host("/no/such/path") == "/no/such/path"


def test_host_paths_are_made_when_the_type_says_so(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        host(tmp_path / "a" / "b", "DirectoryOrCreate")
        host(tmp_path / "a" / "file", "FileOrCreate")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "a" / "file").stat().st_mode) == 0o644
    with pytest.raises(VolumeError, match="cannot be made"):
        host(tmp_path / "none" / "file", "FileOrCreate")


def test_host_paths_of_every_type_are_accepted_and_told_apart(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(tmp_path / "socket"))
    os.mknod(tmp_path / "block", 0o600 | stat.S_IFBLK, os.makedev(7, 200))
    there = {
        "Directory": tmp_path,
        "File": tmp_path / "file",
        "Socket": tmp_path / "socket",
        "CharDevice": Path("/dev/null"),
        "BlockDevice": tmp_path / "block",
    }
    words = {
        "Directory": "directory",
        "File": "file",
        "Socket": "socket file",
        "CharDevice": "character device",
        "BlockDevice": "block device",
    }
    for found, path in there.items():
        for wanted, name in words.items():
            if wanted == found:
                assert host(path, wanted) == str(path)
                continue
            with pytest.raises(VolumeError) as error:
                host(path, wanted)
            assert error.value.words == f"hostPath type check failed: {path} is not a {name}, it's a {found}"


def test_a_missing_host_path_and_dots_are_refused(tmp_path: Path) -> None:
    with pytest.raises(VolumeError) as error:
        host(tmp_path / "none", "Directory")
    assert error.value.words == f"hostPath {tmp_path}/none doesn't exist"
    with pytest.raises(VolumeError, match=r"must not contain '\.\.'"):
        host(f"{tmp_path}/../x")
    with pytest.raises(VolumeError, match="must not contain a NUL"):
        host(f"{tmp_path}/a\0b", "File")
    with pytest.raises(VolumeError, match="Folder is an invalid volume type"):
        host(tmp_path, "Folder")


def test_only_typed_host_paths_may_block() -> None:
    assert registry.may_block({"name": "v", "hostPath": {"path": "/x", "type": "File"}})
    assert not registry.may_block({"name": "v", "hostPath": {"path": "/x", "type": ""}})
    assert not registry.may_block({"name": "v", "emptyDir": {}})
