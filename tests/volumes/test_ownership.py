"""fsGroup: the pod's group on its volumes."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from tests.kit.volumes import make_pod, make_site

from podherd.volumes import ownership, registry

POD = {"securityContext": {"fsGroup": 4000}}


def facts(path: Path | str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_gid, stat.S_IMODE(found.st_mode)


@pytest.mark.parametrize("medium", ["", "Memory"])
@pytest.mark.parametrize(("spec", "expected"), [(POD, (4000, 0o2777)), ({}, (0, 0o777))])
def test_an_empty_dir_belongs_to_the_group_and_hands_it_down(
    pod_dir: str, medium: str, spec: dict[str, Any], expected: tuple[int, int]
) -> None:
    site = make_site(pod_dir, make_pod(spec=spec))
    path = registry.prepare(site, {"name": "v", "emptyDir": {"medium": medium}}).path
    assert facts(path) == expected
    Path(path, "new").touch()
    assert os.stat(f"{path}/new").st_gid == expected[0]


def test_what_a_container_did_to_its_volumes_root_is_left_alone(pod_dir: str) -> None:
    """A database that closes its data directory finds it closed after a restart."""
    site = make_site(pod_dir, make_pod(spec=POD))
    path = registry.prepare(site, {"name": "v", "emptyDir": {}}).path
    os.chmod(path, 0o700)
    os.chown(path, 999, 999)
    registry.prepare(site, {"name": "v", "emptyDir": {}})
    assert facts(path) == (999, 0o700)


@pytest.mark.parametrize("medium", ["", "Memory"])
def test_a_volume_that_a_crash_left_unfinished_is_finished(
    pod_dir: str, medium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site(pod_dir, make_pod(spec=POD))
    volume = {"name": "v", "emptyDir": {"medium": medium}}
    with monkeypatch.context() as patch:
        patch.setattr(os, "chown", lambda *_args: os.stat("/no/such/file"))
        with pytest.raises(Exception, match="No such file"):
            registry.prepare(site, volume)
    assert facts(registry.prepare(site, volume).path) == (4000, 0o2777)


def test_host_paths_keep_their_group(pod_dir: str, tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.mkdir()
    before = facts(host)
    source = {"path": str(host), "type": "Directory"}
    registry.prepare(make_site(pod_dir, make_pod(spec=POD)), {"name": "v", "hostPath": source})
    assert facts(host) == before


def test_a_whole_tree_is_given_and_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("")
    outside.chmod(0o600)
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "file").touch(0o600)
    (tree / "link").symlink_to(outside)
    (tree / "sub").chmod(0o700)
    ownership.give(str(tree), 4000)
    assert facts(tree / "sub") == (4000, 0o2750)
    assert facts(tree / "sub" / "file") == (4000, 0o640)
    assert facts(tree / "link")[0] == 4000
    assert facts(outside) == (0, 0o600)


def test_a_tree_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ownership.give(str(tmp_path / "none"), 4000)
