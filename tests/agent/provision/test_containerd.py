"""podherd's own containerd, for real: start, adoption, death, and nothing left behind."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.containerd import own_containerd

from podherd.agent import provision
from podherd.agent.provision import PAUSE, Containerd, ProvisionError, detached
from podherd.agent.provision.cleaning import mounts_under
from podherd.cri.client import Cri

START = """
import sys
from pathlib import Path
from podherd.agent.provision import Containerd
Containerd(Path(sys.argv[1])).start()
"""


@pytest.fixture(scope="module")
def containerd():
    """One for the file."""
    with own_containerd("provision") as runtime:
        yield runtime


def _root(runtime: Containerd) -> Path:
    return runtime.home.parent


async def _sandbox(runtime: Containerd, name: str) -> str:
    cri = Cri(runtime.endpoint)
    await cri.wait_ready()
    metadata = pb.PodSandboxMetadata(name=name, namespace="p", uid=name)
    try:
        return await cri.run_sandbox(pb.PodSandboxConfig(metadata=metadata, linux=pb.LinuxPodSandboxConfig()))
    finally:
        await cri.close()


async def _state(runtime: Containerd, sandbox_id: str) -> int:
    cri = Cri(runtime.endpoint)
    await cri.wait_ready()
    try:
        return (await cri.sandbox_status(sandbox_id)).status.state
    finally:
        await cri.close()


def test_a_second_start_adopts_the_first(containerd):
    first = containerd.pid
    again = Containerd(_root(containerd))
    again.start()
    assert again.pid == first


def test_ensure_runtime_finds_its_own_and_its_images(containerd):
    said: list[str] = []
    found = provision.ensure_runtime(_root(containerd), said.append)
    assert found.uri == containerd.endpoint
    assert found.own.pid == containerd.pid
    assert said == [f"containerd of {containerd.home} is running"]


def test_it_survives_its_starter_and_the_starters_process_group(containerd):
    containerd.halt()
    starter = subprocess.Popen([sys.executable, "-c", START, str(_root(containerd))], start_new_session=True)
    assert starter.wait(60) == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(starter.pid, signal.SIGINT)
    assert os.getsid(containerd.pid) == containerd.pid
    assert os.getsid(0) != containerd.pid


@pytest.mark.parametrize("end", ["kill9", "halt"])
def test_pods_live_through_the_daemons_end(containerd, end):
    sandbox_id = asyncio.run(_sandbox(containerd, f"lives-{end}"))
    old = containerd.pid
    getattr(containerd, end)()
    assert containerd.pid is None
    containerd.start()
    assert containerd.pid != old
    assert asyncio.run(_state(containerd, sandbox_id)) == pb.SANDBOX_READY


def test_stop_leaves_no_process_mount_or_bridge(containerd):
    asyncio.run(_sandbox(containerd, "left-over"))
    bridge = containerd.network.bridge
    assert Path(f"/sys/class/net/{bridge}").exists()
    containerd.stop()
    assert containerd.pid is None
    assert detached.processes_with(str(containerd.socket)) == []
    assert mounts_under(containerd.home, Path("/proc/self/mountinfo").read_text()) == []
    assert not Path(f"/sys/class/net/{bridge}").exists()
    containerd.stop()


def test_stop_cleans_up_after_a_daemon_that_was_killed(containerd):
    containerd.start()
    asyncio.run(_sandbox(containerd, "orphan"))
    containerd.kill9()
    assert detached.processes_with(str(containerd.socket))
    containerd.stop()
    assert detached.processes_with(str(containerd.socket)) == []
    assert mounts_under(containerd.home, Path("/proc/self/mountinfo").read_text()) == []


def test_what_pods_ran_when_all_was_killed_is_not_ready_after_the_next_start(containerd):
    containerd.start()
    sandbox_id = asyncio.run(_sandbox(containerd, "rebooted"))
    containerd.kill9()
    containerd.stop()
    containerd.start()
    assert asyncio.run(_state(containerd, sandbox_id)) == pb.SANDBOX_NOTREADY


def test_ctr_answers_and_its_failure_is_an_error_of_ours(containerd):
    containerd.start()
    assert PAUSE in containerd.ctr("images", "ls", "-q")
    with pytest.raises(ProvisionError, match="ctr images rm-all-of it"):
        containerd.ctr("images", "rm-all-of", "it")


def test_a_containerd_that_does_not_come_up_says_its_last_word(tmp_path):
    broken = tmp_path / "containerd"
    broken.write_text("#!/bin/sh\n[ $1 = --version ] && echo x v1.6.0 y && exit\necho no such luck; exit 1\n")
    broken.chmod(0o755)
    with pytest.raises(ProvisionError, match="no such luck"):
        Containerd(tmp_path / "r", binary=str(broken)).start()


def test_a_root_too_deep_for_a_socket_is_refused(tmp_path):
    with pytest.raises(ProvisionError, match="shorter --root-dir"):
        Containerd(tmp_path / ("d" * 90)).start()
