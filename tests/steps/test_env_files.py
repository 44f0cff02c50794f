"""Variables out of files in an emptyDir, read without leaving the volume."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.kit.volumes import unmounted_after

from podherd.errors import PodherdError
from podherd.machines.pod.events import Started, StartFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.steps import env_files
from podherd.steps.runner import perform

REFERENCE = {"volumeName": "v", "path": "dir/a.env", "key": "GREETING", "optional": False}
SPEC = {"volumes": [{"name": "v", "emptyDir": {}}]}
WEB = {"name": "web", "env": [{"name": "G", "valueFrom": {"fileKeyRef": REFERENCE}}]}


def in_sandbox(attempt: int) -> Plan:
    return Plan(sandbox_id="s0", start=(StartContainer("web", attempt),))


async def test_a_variable_is_what_the_file_says_when_the_container_starts(bench: Any, make_pod: Any) -> None:
    pod = make_pod(SPEC, WEB)
    (failed,) = (await perform(bench.context(in_sandbox(0), pod))).results
    assert isinstance(failed, StartFailed)
    assert failed.reason == "CreateContainerConfigError"
    assert "env G of container web: couldn't parse env file: dir/a.env: No such file" in failed.message
    (folder,) = bench.settings.pod_dir("u1").glob("volumes/*/v")
    assert list(folder.iterdir()) == []
    (folder / "dir").mkdir()
    (folder / "dir" / "a.env").write_text("GREETING='hello'\n")
    synced = await perform(bench.context(in_sandbox(1), pod))
    assert isinstance(synced.results[0], Started)
    config = next(call[2] for call in bench.cri.calls if call[0] == "create_container")
    assert [(env.key, env.value) for env in config.envs] == [("G", "hello")]


async def test_files_are_read_beside_the_loop(bench: Any, make_pod: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def read(_root: str, _path: str) -> bytes:
        threads.append(threading.get_ident())
        return b"GREETING='hello'"

    monkeypatch.setattr(env_files, "read_beneath", read)
    web = {**WEB, "volumeMounts": [{"name": "v", "mountPath": "/v", "subPathExpr": "$(G)"}]}
    with unmounted_after(bench.settings.root_dir):
        synced = await perform(bench.context(in_sandbox(0), make_pod(SPEC, web)))
    assert isinstance(synced.results[0], Started)
    assert len(threads) == 2
    assert threading.get_ident() not in threads


def test_a_link_inside_the_volume_is_followed_and_one_that_leads_out_is_not(tmp_path: Path) -> None:
    root = tmp_path / "volume"
    root.mkdir()
    (tmp_path / "secret").write_text("A='host'")
    (root / "real").write_text("A='x'")
    os.symlink("real", root / "inside")
    os.symlink("../secret", root / "out")
    os.symlink(str(tmp_path / "secret"), root / "far")
    assert env_files.read_beneath(str(root), "inside") == b"A='x'"
    for name in ("out", "far"):
        with pytest.raises(PodherdError, match="leads out of the volume"):
            env_files.read_beneath(str(root), name)


def test_only_a_regular_file_of_a_sane_size_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dir").mkdir()
    for name in ("pipe", "dir"):
        with pytest.raises(OSError, match="is not a regular file"):
            env_files.read_beneath(str(tmp_path), name)
    (tmp_path / "big").write_bytes(b"#" * (env_files.LARGEST_BYTES + 1))
    with pytest.raises(OSError, match="is larger than"):
        env_files.read_beneath(str(tmp_path), "big")
