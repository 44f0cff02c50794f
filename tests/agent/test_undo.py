"""What `make stop` does."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.agent import lock, undo
from podherd.agent.hollow_child import HollowChild
from podherd.agent.provision import Containerd, leavings
from podherd.cri.client import Cri
from podherd.errors import PodherdError
from podherd.model.keys import POD_UID

AGENT = """
import signal, sys
from pathlib import Path
from podherd.agent import lock
signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[2] == "deaf" else signal.default_int_handler)
with lock.root_lock(Path(sys.argv[1])):
    try:
        print("ready", flush=True)
        signal.pause()
    except KeyboardInterrupt:
        sys.exit(0)
"""


def an_agent(root: Path, kind: str) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, "-c", AGENT, str(root), kind], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "ready\n"
    child.stdout.close()
    return child


def test_the_agent_of_the_root_is_ended(tmp_path: Path) -> None:
    child, said = an_agent(tmp_path, "polite"), []
    assert lock.holder(tmp_path) == child.pid
    undo.undo(tmp_path, said.append)
    assert child.wait(10) == 0
    assert lock.holder(tmp_path) is None
    assert said[0] == f"stopping the agent, pid {child.pid}"


def test_an_agent_that_does_not_end_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    child = an_agent(tmp_path, "deaf")
    with pytest.raises(PodherdError) as refused:
        undo.stop_agent(tmp_path, print, within_s=0.05)
    assert refused.value.mend == f"kill -9 {child.pid}, then once more"
    child.kill()
    child.wait()


def test_without_agent_and_runtime_there_is_nothing_to_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert undo.main([os.fspath(tmp_path / "none")]) == 0
    assert undo.main([os.fspath(tmp_path)]) == 0
    out = capfd.readouterr().out.splitlines()
    assert out[0] == f"nothing is at {tmp_path / 'none'}"
    assert out[1] == "no agent runs"


def test_what_pods_left_on_the_host_goes_by_uid_and_nothing_else(tmp_path: Path) -> None:
    logs, cgroups = tmp_path / "log" / "pods", tmp_path / "cgroup"
    for name in ("default_web-n1_u1", "default_web-n1_x_u1", "default_busy_u2", "u1"):
        (logs / name / "app").mkdir(parents=True)
        (logs / name / "app" / "0.log").touch()
    links = logs.parent / "containers"
    links.mkdir()
    for name, target in (("web", "default_web-n1_u1"), ("busy", "default_busy_u2")):
        (links / f"{name}.log").symlink_to(logs / target / "app" / "0.log")
    for controller in ("cpu", "memory"):
        (cgroups / controller / "kubepods" / "besteffort" / "podu1" / "init").mkdir(parents=True)
        (cgroups / controller / "kubepods" / "podother").mkdir()
    busy = cgroups / "cpu" / "kubepods" / "burstable" / "podu2"
    busy.mkdir(parents=True)
    (busy / "held").touch()  # such a directory cannot be removed, as a cgroup with a process cannot
    leavings.remove(["u1", "u2", "u3", "../x"], leavings.Places(logs, str(cgroups)), within_s=0.0)
    assert sorted(path.name for path in logs.iterdir()) == ["default_busy_u2", "default_web-n1_x_u1", "u1"]
    assert [path.name for path in links.iterdir()] == ["busy.log"]
    assert sorted(path.name for path in cgroups.glob("**/pod*")) == ["podother", "podother", "podu2"]


def test_pods_of_a_containerd_that_does_not_run_are_those_with_a_directory(tmp_path: Path) -> None:
    assert leavings.pods_of(tmp_path, f"unix://{tmp_path}/none.sock") == set()
    (tmp_path / "pods" / "u1").mkdir(parents=True)
    assert leavings.pods_of(tmp_path, f"unix://{tmp_path}/none.sock") == {"u1"}


def test_pods_of_a_runtime_are_those_of_its_sandboxes(tmp_path: Path) -> None:
    (tmp_path / "pods" / "u1").mkdir(parents=True)
    child = HollowChild(tmp_path / "hollow.sock", print)
    try:
        assert leavings.pods_of(tmp_path, child.endpoint) == set()
        asyncio.run(_run_sandbox(child.endpoint, "u2"))
        assert leavings.pods_of(tmp_path, child.endpoint) == {"u2"}
    finally:
        child.stop()


async def _run_sandbox(endpoint: str, uid: str) -> None:
    cri = Cri(endpoint)
    metadata = pb.PodSandboxMetadata(name="p", uid=uid, namespace="default")
    await cri.run_sandbox(pb.PodSandboxConfig(metadata=metadata, labels={POD_UID: uid}))
    await cri.close()


def test_podherds_own_containerd_is_stopped_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, stopped = Containerd(tmp_path), []
    runtime.home.mkdir()
    (runtime.home / "config.toml").touch()
    (tmp_path / "kept").touch()
    monkeypatch.setattr(Containerd, "stop", lambda self: stopped.append(self.home))
    undo.undo(tmp_path, lambda _line: None)
    assert stopped == [runtime.home]
    assert not runtime.home.exists()
    assert (tmp_path / "kept").exists()
