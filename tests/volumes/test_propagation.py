"""Shared mounts, where the host's own are private and where they are not."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.kit.volumes import make_site, mounts_below

from podherd.volumes import registry
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import bind, mount, mount_id_at, share
from podherd.volumes.propagation import is_shared, make_shared
from podherd.volumes.removal import remove_tree, unmount_own


@pytest.fixture
def private(pod_dir: str) -> str:
    """The pod's directory on a private mount, whatever the host's is."""
    bind(pod_dir, pod_dir)
    subprocess.run(["mount", "--make-private", pod_dir], check=True)
    return pod_dir


@pytest.mark.parametrize("medium", ["", "Memory"])
def test_a_volume_becomes_shared_once_and_goes_with_the_pod(private: str, medium: str, tmp_path: Path) -> None:
    site = make_site(private)
    volume = {"name": "v", "emptyDir": {"medium": medium}}
    path = registry.prepare(site, volume).path
    Path(path, "kept").touch()
    assert not is_shared(path)
    for _ in range(2):
        make_shared(path)
    assert is_shared(path)
    assert registry.prepare(site, volume).path == path
    assert os.listdir(path) == ["kept"]
    assert len(mounts_below(tmp_path)) == 2
    unmount_own(private)
    assert [where for where, *_ in mounts_below(tmp_path)] == [private]
    remove_tree(f"{private}/volumes")


def test_what_is_shared_already_is_left_as_it_is(private: str, tmp_path: Path) -> None:
    path = registry.prepare(make_site(private), {"name": "v", "emptyDir": {}}).path
    share(private)
    make_shared(path)
    assert len(mounts_below(tmp_path)) == 1


def test_a_mount_below_a_shared_volume_reaches_its_copies(private: str, tmp_path: Path) -> None:
    path = registry.prepare(make_site(private), {"name": "v", "emptyDir": {}}).path
    make_shared(path)
    copy = tmp_path / "copy"
    copy.mkdir()
    bind(path, str(copy))
    Path(path, "inner").mkdir()
    mount("tmpfs", f"{path}/inner", "size=64k")
    Path(path, "inner", "file").touch()
    assert os.listdir(copy / "inner") == ["file"]


def test_a_volume_that_is_gone_is_an_error(pod_dir: str) -> None:
    with pytest.raises(VolumeError, match="cannot be made a shared mount: No such file"):
        make_shared(f"{pod_dir}/none")


def test_tags_are_read_from_their_own_column(pod_dir: str, tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    mine = mount_id_at(pod_dir)
    line = "{} 1 0:1 / /shared:1 rw {}- tmpfs shared:2 rw\n"
    table.write_text(line.format(f"{mine}0", "shared:3 ") + line.format(mine, ""))
    assert not is_shared(pod_dir, str(table))
    table.write_text(line.format(mine, "master:1 shared:7 "))
    assert is_shared(pod_dir, str(table))
    table.write_text("")
    assert not is_shared(pod_dir, str(table))
