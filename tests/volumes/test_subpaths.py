"""Parts of volumes as real bind mounts, and their removal."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tests.kit.volumes import make_pod, make_site, mounts_below

from podherd.volumes import registry, subpaths
from podherd.volumes.errors import VolumeError
from podherd.volumes.mounting import is_mount, mount
from podherd.volumes.removal import has_volumes, remove_tree, unmount_own
from podherd.volumes.subpaths import bind_part, target_of


def empty(pod_dir: str, **source: str) -> str:
    return registry.prepare(make_site(pod_dir), {"name": "v", "emptyDir": source}).path


def target(pod_dir: str, index: int = 0, container: str = "c0") -> str:
    return target_of(pod_dir, "v", container, index)


def test_a_directory_is_bound_and_shows_what_is_written(pod_dir: str, tmp_path: Path) -> None:
    root = empty(pod_dir)
    assert bind_part(root, "a/b", target(pod_dir)) == f"{pod_dir}/volume-subpaths/v/c0/0"
    Path(root, "a", "b", "file").write_text("x")
    assert Path(target(pod_dir), "file").read_text() == "x"
    assert stat.S_IMODE(os.stat(target(pod_dir)).st_mode) == 0o777
    assert [where for where, *_ in mounts_below(tmp_path)] == [target(pod_dir)]


def test_a_file_is_bound(pod_dir: str) -> None:
    root = empty(pod_dir, medium="Memory")
    Path(root, "one").write_text("1")
    bind_part(root, "one", target(pod_dir))
    assert Path(target(pod_dir)).read_text() == "1"
    assert is_mount(target(pod_dir))


def test_a_restart_uses_the_mount_that_is_there(pod_dir: str, tmp_path: Path) -> None:
    root = empty(pod_dir)
    for _ in range(3):
        bind_part(root, "a", target(pod_dir))
    assert len(mounts_below(tmp_path)) == 1


@pytest.mark.parametrize("then", ["directory", "file"])
def test_a_restart_replaces_a_mount_of_what_is_no_more(pod_dir: str, tmp_path: Path, then: str) -> None:
    root = empty(pod_dir)
    bind_part(root, "a", target(pod_dir))
    os.rename(f"{root}/a", f"{root}/old")
    if then == "file":
        Path(root, "a").write_text("new")
    else:
        Path(root, "a").mkdir()
        Path(root, "a", "new").touch()
    bind_part(root, "a", target(pod_dir))
    shown = Path(target(pod_dir))
    assert shown.read_text() == "new" if then == "file" else os.listdir(shown) == ["new"]
    assert len(mounts_below(tmp_path)) == 1


def test_after_a_reboot_what_the_mount_stood_on_is_mounted_on_again(pod_dir: str) -> None:
    root = empty(pod_dir)
    Path(root, "one").write_text("1")
    Path(target(pod_dir)).mkdir(parents=True)
    bind_part(root, "one", target(pod_dir))
    assert Path(target(pod_dir)).read_text() == "1"


def test_what_is_mounted_is_what_was_looked_at_even_if_swapped_before_the_mount(
    pod_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CVE-2021-25741: between the look and the mount the container puts a link in the directory's place."""
    root = Path(empty(pod_dir))
    (root / "a").mkdir()
    (root / "a" / "own").touch()
    dear = tmp_path / "dear"
    dear.mkdir()
    (dear / "secret").touch()
    real = subpaths.bind

    def late(source: str, where: str) -> None:
        (root / "a").rename(root / "moved")
        (root / "a").symlink_to(dear)
        real(source, where)

    monkeypatch.setattr(subpaths, "bind", late)
    bind_part(str(root), "a", target(pod_dir))
    assert os.listdir(target(pod_dir)) == ["own"]


def test_errors_name_the_part(pod_dir: str) -> None:
    root = empty(pod_dir)
    Path(root, "file").touch()
    with pytest.raises(VolumeError, match=r"subPath 'file/x' of .*: Not a directory"):
        bind_part(root, "file/x", target(pod_dir))
    with pytest.raises(VolumeError, match=r"subPath 'x' of /no/such: No such file"):
        bind_part("/no/such", "x", target(pod_dir))
    assert not os.path.exists(f"{pod_dir}/volume-subpaths")


def test_a_part_of_a_content_volume_is_found_behind_its_links_and_keeps_its_version(pod_dir: str) -> None:
    def write(label: str) -> str:
        item = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
        source = {"items": [item], "defaultMode": 0o644}
        site = make_site(pod_dir, make_pod(labels={"a": label}))
        return registry.prepare(site, {"name": "v", "downwardAPI": source}).path

    bind_part(write("1"), "labels", target(pod_dir))
    root = write("2")
    assert Path(target(pod_dir)).read_text() == 'a="1"'
    bind_part(root, "labels", target(pod_dir))
    assert Path(target(pod_dir)).read_text() == 'a="2"'


def test_removal_unmounts_parts_and_volumes_and_keeps_what_is_the_hosts(pod_dir: str, tmp_path: Path) -> None:
    host = tmp_path / "host"
    (host / "kept").mkdir(parents=True)
    (host / "one").write_text("1")
    bind_part(str(host), "kept", target(pod_dir))
    bind_part(str(host), "one", target(pod_dir, 1, "c1"))
    assert has_volumes(pod_dir)
    bind_part(empty(pod_dir, medium="Memory"), "x", target(pod_dir, 2))
    registry.prepare(make_site(pod_dir), {"name": "p", "projected": {"defaultMode": 0o644}})
    registry.prepare(make_site(pod_dir), {"name": "d", "downwardAPI": {"defaultMode": 0o644}})
    mount("tmpfs", target(pod_dir), "size=64k")
    assert len(mounts_below(tmp_path)) == 7
    unmount_own(pod_dir)
    assert mounts_below(tmp_path) == []
    remove_tree(pod_dir)
    assert not os.path.exists(pod_dir)
    assert (host / "kept").is_dir()
    assert (host / "one").read_text() == "1"


def test_removal_does_not_cross_a_mount_that_is_not_the_pods_own(pod_dir: str, tmp_path: Path) -> None:
    dear = tmp_path / "dear"
    dear.mkdir()
    (dear / "file").touch()
    foreign = Path(empty(pod_dir), "inner")
    foreign.mkdir()
    subprocess.run(["mount", "--bind", dear, foreign], check=True)
    csi = Path(pod_dir, "volumes", "kubernetes.io~csi", "pv", "mount")
    csi.mkdir(parents=True)
    subprocess.run(["mount", "--bind", dear, csi], check=True)
    unmount_own(pod_dir)
    assert {where for where, *_ in mounts_below(tmp_path)} == {str(foreign), str(csi)}
    with pytest.raises(VolumeError, match="another file system is mounted here"):
        remove_tree(pod_dir)
    assert (dear / "file").exists()


def test_a_volume_with_a_foreign_mount_on_top_is_not_unmounted(pod_dir: str, tmp_path: Path) -> None:
    inner = Path(empty(pod_dir, medium="Memory"), "inner")
    inner.mkdir()
    mount("tmpfs", str(inner), "size=64k")
    with pytest.raises(VolumeError, match="cannot be unmounted: Device or resource busy"):
        unmount_own(pod_dir)
    assert len(mounts_below(tmp_path)) == 2


def test_links_among_the_parts_are_not_followed(pod_dir: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "c0" / "0"
    elsewhere.mkdir(parents=True)
    mount("tmpfs", str(elsewhere), "size=64k")
    Path(pod_dir, "volume-subpaths").mkdir()
    Path(pod_dir, "volume-subpaths", "v").symlink_to(tmp_path / "elsewhere")
    unmount_own(pod_dir)
    assert is_mount(str(elsewhere))
