"""Exec and attach over the runtime's streaming server, the same on hollow and on containerd."""

import asyncio
import json
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb

from podherd.agent.provision import BUSYBOX
from podherd.agent.remote_streams import NotStartedError, exit_code
from podherd.cri.client import Cri
from podherd.cri.streams.remote import STDERR, STDOUT, Remote, Wants, open_remote
from podherd.errors import CriError

BOUND_S = 120.0
OUT = Wants(stdin=False, stdout=True, stderr=True)
IN_OUT = Wants(stdin=True, stdout=True, stderr=True)


async def opened(cri: Cri, container_id: str, *command: str, wants: Wants = OUT) -> Remote:
    return await open_remote(await cri.exec_url(container_id, command, wants), wants)


async def ended(remote: Remote) -> tuple[bytes, bytes, Any]:
    """All of stdout and stderr, and the status."""
    said = {STDOUT: bytearray(), STDERR: bytearray()}
    async with asyncio.timeout(BOUND_S):
        async for channel, data in remote.output():
            said[channel] += data
    await remote.close()
    return bytes(said[STDOUT]), bytes(said[STDERR]), json.loads(remote.status)


def code_of(status: Any) -> int:
    if status["status"] == "Success":
        return 0
    assert status["reason"] == "NonZeroExitCode"
    return int(status["details"]["causes"][0]["message"])


@pytest.mark.parametrize("code", [0, 1, 3, 126, 127, 255])
async def test_the_exit_code_of_a_command_is_told(cri, pods, code):
    _, container = await pods.running(f"codes-{code}")
    _, _, status = await ended(await opened(cri, container, "sh", "-c", f"exit {code}"))
    assert code_of(status) == code


async def test_stdout_and_stderr_come_apart(cri, pods):
    _, container = await pods.running("apart")
    out, err, _ = await ended(await opened(cri, container, "sh", "-c", "echo said; echo cried >&2"))
    assert (out, err) == (b"said\n", b"cried\n")


async def test_the_end_of_stdin_reaches_the_command_and_all_its_output_comes_back(cri, pods):
    _, container = await pods.running("eof")
    for given in (b"", b"hi\n", bytes(range(256)) * 4096):
        remote = await opened(cri, container, "cat", wants=IN_OUT)

        async def feed(remote=remote, given=given) -> None:
            await remote.write(given)
            await remote.end_stdin()

        feeding = asyncio.create_task(feed())
        out, _, status = await ended(remote)
        await feeding
        assert (out, code_of(status)) == (given, 0)


async def test_what_was_said_survives_a_command_that_leaves_its_stdin_unread(cri, pods):
    _, container = await pods.running("unread")
    remote = await opened(cri, container, "sh", "-c", "echo first; exit 4", wants=IN_OUT)
    feeding = asyncio.create_task(remote.write(b"x" * 30_000))
    out, _, status = await ended(remote)
    await feeding
    assert (out, code_of(status)) == (b"first\n", 4)


async def test_a_slow_reader_holds_the_command_back_and_loses_nothing(cri, pods):
    _, container = await pods.running("slow")
    size = 20_000_000
    remote = await opened(cri, container, "head", "-c", str(size), "/dev/zero")
    got, biggest = 0, 0
    async with asyncio.timeout(BOUND_S):
        async for _, data in remote.output():
            got += len(data)
            biggest = max(biggest, len(data))
            await asyncio.sleep(0.001 if got < 1_000_000 else 0)
    await remote.close()
    assert got == size
    assert biggest <= 1 << 17


async def test_a_terminal_has_one_output_and_the_size_it_is_told(cri, pods):
    _, container = await pods.running("tty")
    wants = Wants(stdin=True, stdout=True, stderr=False, tty=True)
    script = "sleep 0.5; stty size; echo cried >&2"
    remote = await opened(cri, container, "sh", "-c", script, wants=wants)
    await remote.resize(b'{"Width":97,"Height":31}')
    out, err, status = await ended(remote)
    assert b"31 97" in out
    assert b"cried" in out
    assert (err, code_of(status)) == (b"", 0)


async def test_fifty_commands_run_at_once(cri, pods):
    _, container = await pods.running("fifty")

    async def one(number: int) -> tuple[bytes, int]:
        remote = await opened(cri, container, "sh", "-c", f"echo {number}; sleep 1; exit {number}")
        out, _, status = await ended(remote)
        return out, code_of(status)

    answers = await asyncio.gather(*(one(number) for number in range(50)))
    assert answers == [(f"{number}\n".encode(), number) for number in range(50)]


async def test_a_command_in_a_container_that_ends_is_ended_and_told(cri, pods):
    _, container = await pods.running("killed")
    remote = await opened(cri, container, "sleep", "600")
    ending = asyncio.create_task(ended(remote))
    await cri.stop_container(container, 0)
    _, _, status = await ending
    assert status["status"] == "Failure"


async def test_a_command_for_a_container_that_does_not_run_is_refused(cri, pods):
    sandbox = await pods.sandbox("created")
    container = await pods.container(sandbox)
    with pytest.raises(CriError) as error:
        await cri.exec_url(container, ["true"], OUT)
    assert "state" in error.value.reason
    with pytest.raises(CriError) as error:
        await cri.exec_url("no-such-container", ["true"], OUT)
    assert error.value.code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("command", "why", "code"),
    [
        ("absent", 'exec: "absent": executable file not found in $PATH', 127),
        ("/absent", 'exec: "/absent": stat /absent: no such file or directory', 127),
        ("/etc/hosts", 'exec: "/etc/hosts": permission denied', 126),
    ],
)
async def test_a_command_that_cannot_be_started_is_the_reason_that_is_told(cri, pods, command, why, code):
    config = pods.config("absent")
    config.annotations["hollow.podherd.io/exec-error"] = why
    sandbox = await pods.sandbox("absent", config)
    container = await pods.container(sandbox)
    await cri.start_container(container)
    _, _, status = await ended(await opened(cri, container, command))
    assert why in status["message"]
    with pytest.raises(NotStartedError) as error:
        exit_code(json.dumps(status).encode(), command)
    assert error.value.code == code


async def test_a_url_is_good_once(cri, pods):
    _, container = await pods.running("once")
    url = await cri.exec_url(container, ["true"], OUT)
    await (await open_remote(url, OUT)).close()
    with pytest.raises(CriError) as error:
        await open_remote(url, OUT)
    assert "404" in error.value.reason or "not found" in error.value.reason.lower()


async def test_attach_joins_stdin_and_output_and_ends_with_the_container(cri, pods):
    sandbox = await pods.sandbox("attach")
    config = pods.configs[sandbox]
    container = await cri.create_container(
        sandbox,
        pb.ContainerConfig(
            metadata=pb.ContainerMetadata(name="main"), image=pb.ImageSpec(image=BUSYBOX),
            command=["cat"], stdin=True, log_path="main.log", linux=pb.LinuxContainerConfig(),
        ),
        config,
    )  # fmt: skip
    await cri.start_container(container)
    remote = await open_remote(await cri.attach_url(container, IN_OUT), IN_OUT)
    output = remote.output()
    async with asyncio.timeout(BOUND_S):
        await remote.write(b"hello\n")
        assert await anext(output) == (STDOUT, b"hello\n")
        await cri.stop_container(container, 0)
        assert [data async for _, data in output] == []
    await remote.close()
    assert json.loads(remote.status)["status"] == "Success"


async def test_stats_of_a_running_container_grow(cri, pods):
    _, container = await pods.running("stats")

    async def one() -> pb.ContainerStats:
        found = [each for each in await cri.container_stats() if each.attributes.id == container]
        return found[0]

    first = await one()
    second = await one()
    assert second.cpu.usage_core_nano_seconds.value >= first.cpu.usage_core_nano_seconds.value > 0
    assert second.cpu.timestamp > first.cpu.timestamp
    assert second.memory.working_set_bytes.value > 0
