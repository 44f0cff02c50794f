"""Persistent volumes of this node: bound into the pod's directory, given to its group once, unbound at its end."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.kit.volumes import make_pod, make_site, mounts_below

from podherd.volumes import fs_group, local
from podherd.volumes.claim import Bound
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Site
from podherd.volumes.removal import remove_tree, unmount_own


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    (path / "sub").mkdir(parents=True)
    (path / "sub" / "file").write_text("kept")
    (path / "link").symlink_to("/etc/hostname")
    os.chmod(path, 0o755)
    return path


def site_with(pod_dir: str, **context: Any) -> Site:
    return make_site(pod_dir, make_pod(spec={"securityContext": context}))


def of(disk: Path, read_only: bool = False, **spec: Any) -> Bound:
    return Bound("data", {"metadata": {"name": "pv-1"}, "spec": spec or {"local": {"path": str(disk)}}}, read_only)


def unheard(reason: str, message: str) -> None:
    raise AssertionError(f"{reason}: {message}")


def test_a_local_volume_is_bound_where_the_kubelet_has_it_and_only_once(pod_dir: str, disk: Path) -> None:
    ready = local.prepare(site_with(pod_dir), of(disk), unheard)
    assert ready == local.prepare(site_with(pod_dir), of(disk), unheard)
    assert ready.path == f"{pod_dir}/volumes/kubernetes.io~local-volume/pv-1"
    assert Path(ready.path, "sub", "file").read_text() == "kept"
    assert len(mounts_below(pod_dir)) == 1


def test_a_read_only_one_cannot_be_written_and_the_directory_itself_can(pod_dir: str, disk: Path) -> None:
    ready = local.prepare(site_with(pod_dir, fsGroup=4242), of(disk, read_only=True), unheard)
    assert ready.read_only
    with pytest.raises(OSError, match="Read-only"):
        Path(ready.path, "new").write_text("")
    (disk / "new").write_text("")
    assert disk.stat().st_gid != 4242


def test_the_end_of_the_pod_unbinds_it_and_leaves_what_is_on_it(pod_dir: str, disk: Path) -> None:
    local.prepare(site_with(pod_dir), of(disk), unheard)
    unmount_own(pod_dir)
    remove_tree(pod_dir)
    assert mounts_below(os.path.dirname(pod_dir)) == []
    assert (disk / "sub" / "file").read_text() == "kept"


def test_the_pods_group_gets_all_of_it_at_the_first_mount_alone(pod_dir: str, disk: Path) -> None:
    outside = os.stat("/etc/hostname")
    site = site_with(pod_dir, fsGroup=4242)
    local.prepare(site, of(disk), unheard)
    for path, bits in ((disk, 0o2770), (disk / "sub", 0o2770), (disk / "sub" / "file", 0o660)):
        assert path.stat().st_gid == 4242
        assert path.stat().st_mode & bits == bits
    assert (disk / "link").lstat().st_gid == 4242
    assert os.stat("/etc/hostname") == outside
    os.chown(disk / "sub", -1, 0)
    local.prepare(site, of(disk), unheard)
    assert (disk / "sub").stat().st_gid == 0


def test_a_root_that_matches_says_that_all_below_it_does(pod_dir: str, disk: Path) -> None:
    os.chown(disk, -1, 4242)
    os.chmod(disk, 0o2770)
    site = site_with(pod_dir, fsGroup=4242, fsGroupChangePolicy="OnRootMismatch")
    local.prepare(site, of(disk), unheard)
    assert (disk / "sub").stat().st_gid == 0
    os.chmod(disk, 0o770)
    progress = fs_group.Progress()
    fs_group.give(str(disk), 4242, "OnRootMismatch", False, progress)
    assert (disk / "sub").stat().st_gid == 4242
    assert progress.files == 3


def test_a_group_that_another_pod_gave_stays_and_the_pod_is_warned(pod_dir: str, disk: Path, tmp_path: Path) -> None:
    local.prepare(site_with(pod_dir, fsGroup=4242), of(disk), unheard)
    warned: list[str] = []
    (tmp_path / "pods" / "u2").mkdir()
    local.prepare(
        site_with(str(tmp_path / "pods" / "u2"), fsGroup=9),
        of(disk),
        lambda reason, message: warned.append(f"{reason}: {message}"),
    )
    assert disk.stat().st_gid == 4242
    assert warned == [
        "AlreadyMountedVolume: The requested fsGroup is 9, but the volume pv-1 has GID 4242. "
        "The volume may not be shareable."
    ]


def test_a_host_path_volume_is_the_path_itself(pod_dir: str, disk: Path) -> None:
    ready = local.prepare(site_with(pod_dir), of(disk, True, hostPath={"path": str(disk)}), unheard)
    assert (ready.path, ready.read_only) == (str(disk), True)


@pytest.mark.parametrize(
    ("path", "words"),
    [("/none/at/all", "does not exist"), ("/etc/hostname", "is no directory"), ("/a/../b", "without '..'"),
     ("relative", "must be absolute"), ("", "must be absolute")],
)  # fmt: skip
def test_a_path_that_is_no_directory_is_refused(pod_dir: str, disk: Path, path: str, words: str) -> None:
    with pytest.raises(VolumeError, match=words):
        local.prepare(site_with(pod_dir), of(disk, local={"path": path}), unheard)
    assert mounts_below(pod_dir) == []
