"""The process: its socket, its signals, its death."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import grpc
import pytest
from cri_api.v1 import api_pb2 as api
from cri_api.v1 import api_pb2_grpc as stubs
from tests.hollow.conftest import pod_config, until

from podherd.errors import ConfigError, RuntimeRefusedError
from podherd.hollow.child import start_child
from podherd.hollow.control import Control
from podherd.hollow.server import claim


async def _has(control: Control, images: int) -> bool:
    return bool((await control.stats())["images"] == images)


async def _gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: ASYNC230  # procfs does not block
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_it_serves_until_sigterm_and_leaves_no_socket(room: Path) -> None:
    path = room / "deep" / "cri.sock"
    child = await start_child(path)
    assert child.endpoint == f"unix://{path}"
    assert path.stat().st_mode & 0o777 == 0o600
    async with Control(child.endpoint) as control:
        assert (await control.stats())["sandboxes"] == 0
    assert await child.stop() == 0
    assert not path.exists()


async def test_a_stale_socket_is_taken_over_and_a_live_one_is_not(room: Path) -> None:
    path = room / "cri.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    child = await start_child(path)
    with pytest.raises(RuntimeRefusedError, match="a live server listens there already"):
        await start_child(path)
    async with Control(child.endpoint) as control:
        await control.stats()
    await child.stop()


def test_a_path_that_cannot_be_a_socket_is_refused(room: Path) -> None:
    (room / "file").write_text("precious")
    with pytest.raises(ConfigError, match="no socket"):
        claim(room / "file")
    assert (room / "file").read_text() == "precious"
    with pytest.raises(ConfigError, match="longer than 107 bytes"):
        claim(room / ("x" * 120))


async def test_a_broken_script_keeps_it_from_starting_and_says_where(room: Path) -> None:
    (room / "script.yaml").write_text("rules: [{actions: {exit-aftre: 1}}]")
    with pytest.raises(RuntimeRefusedError, match=r"rules\[0\].actions: unknown action 'exit-aftre'"):
        await start_child(room / "cri.sock", "--script", str(room / "script.yaml"))


async def test_sighup_reads_the_script_again_and_keeps_the_old_one_when_it_is_broken(room: Path) -> None:
    script = room / "script.yaml"
    script.write_text("images: ['registry.local/one:1']")
    child = await start_child(room / "cri.sock", "--script", str(script))
    async with Control(child.endpoint) as control, grpc.aio.insecure_channel(child.endpoint) as channel:
        runtime = stubs.RuntimeServiceStub(channel)
        script.write_text(
            "rules: [{match: {pod: web}, actions: {sandbox-error: full}}]\nimages: ['registry.local/two:1']"
        )
        os.kill(child.pid, signal.SIGHUP)
        await until(lambda: _has(control, images=2))
        script.write_text("rules: 7")
        os.kill(child.pid, signal.SIGHUP)
        with pytest.raises(grpc.aio.AioRpcError, match="full"):
            await runtime.RunPodSandbox(api.RunPodSandboxRequest(config=pod_config()))
    assert await child.stop() == 0


async def test_it_dies_with_its_parent(room: Path) -> None:
    program = (
        "import asyncio, os, pathlib, sys\n"
        "from podherd.hollow.child import start_child\n"
        "async def main():\n"
        "    child = await start_child(pathlib.Path(sys.argv[1]))\n"
        "    print(child.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(room / "cri.sock"), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await parent.communicate()
    await until(lambda: _gone(int(said)))
    assert parent.returncode == -signal.SIGKILL
    assert not (room / "cri.sock").exists()
