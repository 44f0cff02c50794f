"""What the client itself decides; the calls are the contract suite's (tests/contract)."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator

import grpc
import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.hollow import own_hollow

from podherd.cri import ready
from podherd.cri.channel import socket_path
from podherd.cri.client import Cri
from podherd.errors import CriError, RuntimeRefusedError


@pytest.fixture
async def no_cri(tmp_path) -> AsyncIterator[str]:
    """The endpoint of a gRPC server without any service, as a containerd whose CRI plugin is off."""
    server = grpc.aio.server()
    endpoint = f"unix://{tmp_path}/empty.sock"
    server.add_insecure_port(f"unix:{tmp_path}/empty.sock")
    await server.start()
    yield endpoint
    await server.stop(0)


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1:1", "run/x.sock", "", "http://x"])
def test_an_endpoint_that_is_no_unix_socket_is_refused(endpoint):
    with pytest.raises(RuntimeRefusedError, match="unix socket"):
        socket_path(endpoint)


def test_a_plain_path_and_a_url_are_the_same_endpoint():
    assert socket_path("unix:///run/x.sock") == socket_path("/run/x.sock")


async def test_a_server_without_cri_is_refused_with_the_mend(no_cri):
    cri = Cri(no_cri)
    with pytest.raises(RuntimeRefusedError, match="disabled_plugins") as error:
        await cri.wait_ready()
    assert no_cri in error.value.thing
    with pytest.raises(CriError) as failed:
        await cri.list_sandboxes_raw()
    assert failed.value.code == "UNIMPLEMENTED"
    await cri.close()


async def test_an_error_that_names_a_command_of_half_a_mebibyte_arrives_with_both_its_ends(tmp_path):
    words = f'exec: "{"c" * 500_000}": file name too long'

    async def start(_request, context):
        await context.abort(grpc.StatusCode.UNKNOWN, words)

    handler = grpc.unary_unary_rpc_method_handler(start, pb.StartContainerRequest.FromString)
    server = grpc.aio.server()
    service = grpc.method_handlers_generic_handler("runtime.v1.RuntimeService", {"StartContainer": handler})
    server.add_generic_rpc_handlers((service,))
    server.add_insecure_port(f"unix:{tmp_path}/long.sock")
    await server.start()
    cri = Cri(f"unix://{tmp_path}/long.sock")
    with pytest.raises(CriError) as failed:
        await cri.start_container("c0")
    assert failed.value.code == "UNKNOWN"
    assert failed.value.reason.startswith('exec: "ccc')
    assert failed.value.reason.endswith('ccc": file name too long')
    assert len(failed.value.reason) == 12 << 10
    await cri.close()
    await server.stop(0)


async def test_the_fallback_is_taken_from_a_runtime_without_runtime_config(no_cri):
    cri = Cri(no_cri)
    assert await cri.cgroup_driver("systemd") == "systemd"
    await cri.close()


@pytest.mark.parametrize("driver", ["cgroupfs", "systemd"])
async def test_the_cgroup_driver_is_the_runtimes(driver):
    with own_hollow("--cgroup-driver", driver) as runtime:
        cri = Cri(runtime.endpoint)
        assert await cri.cgroup_driver("neither") == driver
        await cri.close()


async def test_events_of_a_runtime_without_them_are_unimplemented():
    with own_hollow("--no-events") as runtime:
        cri = Cri(runtime.endpoint)
        with pytest.raises(CriError) as error:
            await anext(cri.events())
        assert error.value.code == "UNIMPLEMENTED"
        await cri.close()


def _asked(*answers):
    left = iter(answers)

    async def ask() -> pb.VersionResponse:
        answer = next(left)
        if isinstance(answer, CriError):
            raise answer
        return answer

    return ask


V1 = pb.VersionResponse(runtime_name="x", runtime_api_version="v1")
AWAY = CriError("CRI Version", "UNAVAILABLE", "no such file")
YOUNG = CriError("CRI Version", "UNKNOWN", "server is not initialized yet")


async def test_waiting_tells_each_new_reason_once(monkeypatch):
    monkeypatch.setattr(ready, "FIRST_WAIT_S", 0)
    told: list[CriError] = []
    assert await ready.until_ready(_asked(AWAY, AWAY, YOUNG, YOUNG, V1), "unix:///x", told.append) == V1
    assert told == [AWAY, YOUNG]


@pytest.mark.parametrize("version", ["v1alpha2", "", "v2"])
async def test_another_version_of_the_api_is_refused(version):
    answer = pb.VersionResponse(runtime_name="old", runtime_version="1.5", runtime_api_version=version)
    with pytest.raises(RuntimeRefusedError, match=r"old 1.5 speaks CRI .*, not v1"):
        await ready.until_ready(_asked(AWAY, answer), "unix:///x", None)


async def test_a_closed_client_answers_with_an_error_of_ours(tmp_path):
    cri = Cri(f"unix://{tmp_path}/nobody.sock")
    await cri.close()
    with pytest.raises(CriError) as error:
        await cri.version()
    assert error.value.code == "CANCELLED"


async def test_closing_ends_calls_in_flight_with_an_error_of_ours():
    with own_hollow("--script", "/dev/null") as runtime:
        cri = Cri(runtime.endpoint)
        await cri.version()
        waiting = asyncio.ensure_future(anext(cri.events()))
        await asyncio.sleep(0)
        await cri.close()
        with pytest.raises(CriError) as error:
            await waiting
        assert error.value.code == "CANCELLED"


async def test_cancelling_the_caller_is_a_cancel_and_no_error(tmp_path):
    silent = await asyncio.start_unix_server(lambda _reader, _writer: None, tmp_path / "silent.sock")
    cri = Cri(f"unix://{tmp_path}/silent.sock")
    call = asyncio.create_task(cri.version())
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await cri.close()
    silent.close()


def _ask(*args):
    return subprocess.run([sys.executable, "-m", "podherd.cri.ask", *args], capture_output=True, text=True, check=False)


async def test_ask_prints_the_version_or_says_what_is_wrong(tmp_path, no_cri):
    with own_hollow() as runtime:
        good = await asyncio.to_thread(_ask, "version", runtime.endpoint)
    refused = await asyncio.to_thread(_ask, "version", no_cri)
    absent = await asyncio.to_thread(_ask, "version", f"unix://{tmp_path}/nobody.sock")
    assert (good.returncode, good.stdout.strip().startswith("hollow")) == (0, True), good
    assert (refused.returncode, "disabled_plugins" in refused.stderr) == (1, True)
    assert (absent.returncode, "nobody.sock" in absent.stderr) == (1, True)
    assert (await asyncio.to_thread(_ask, "nonsense")).returncode == 2
