"""Exec, attach and top: from the command line's own processes over the admin socket to a hollow runtime, and back."""

import asyncio
import hashlib
import json
import os
import pty
import re
import signal
import sys
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cri_api.v1 import api_pb2 as pb
from tests.kit.hollow import Hollow, own_hollow
from tests.kit.waiting import until

from podherd.cri.client import Cri
from podherd.hollow.control import Control
from podherd.model.settings import Settings
from podherd.server import stream_page

from .conftest import Stand, changed

IMAGE = "reg.test/app:1"
BOUND_S = 30.0


@pytest.fixture(scope="module")
def hollow() -> Iterator[Hollow]:
    with own_hollow("--image", IMAGE) as runtime:
        yield runtime


@pytest.fixture
def settings(tmp_path: Path, hollow: Hollow) -> Settings:
    return Settings(
        node_name="n1", root_dir=tmp_path / "root", runtime_endpoint=hollow.endpoint, pod_logs_dir=tmp_path / "logs"
    )


@pytest.fixture
async def cri(hollow: Hollow) -> AsyncIterator[Cri]:
    client = Cri(hollow.endpoint)
    yield client
    for sandbox in pb.ListPodSandboxResponse.FromString(await client.list_sandboxes_raw()).items:
        await client.stop_sandbox(sandbox.id)
        await client.remove_sandbox(sandbox.id)
    await client.close()


class Door:
    """Makes pods that run on the hollow runtime and that the server knows; runs the command line on them."""

    def __init__(self, stand: Stand, cri: Cri) -> None:
        self.stand = stand
        self.cri = cri

    async def pod(self, name: str = "web-n1", containers: tuple[str, ...] = ("app",), **fields: Any) -> dict[str, str]:
        """A running pod; its container ids by name."""
        row = changed(name)
        await self.stand.add(row, containers)
        shard = self.stand.owner("default", name)
        for spec in shard.pods["default", name]["spec"]["containers"]:
            spec.update(fields)
        labels = {"io.kubernetes.pod.uid": row.uid, "io.kubernetes.pod.name": name,
                  "io.kubernetes.pod.namespace": "default"}  # fmt: skip
        config = pb.PodSandboxConfig(
            metadata=pb.PodSandboxMetadata(name=name, namespace="default", uid=row.uid), labels=labels,
            linux=pb.LinuxPodSandboxConfig(),
        )  # fmt: skip
        sandbox = await self.cri.run_sandbox(config)
        return {each: await self.container(sandbox, config, each, labels) for each in containers}

    async def container(self, sandbox: str, config: pb.PodSandboxConfig, name: str, labels: dict[str, str]) -> str:
        """A running container."""
        wanted = pb.ContainerConfig(
            metadata=pb.ContainerMetadata(name=name), image=pb.ImageSpec(image=IMAGE),
            labels={**labels, "io.kubernetes.container.name": name}, linux=pb.LinuxContainerConfig(),
        )  # fmt: skip
        container = await self.cri.create_container(sandbox, wanted, config)
        await self.cri.start_container(container)
        return container

    async def begin(self, *words: str, **streams: Any) -> asyncio.subprocess.Process:
        """Start `podherd WORDS`."""
        env = {**os.environ, "PODHERD_ROOT": str(self.stand.settings.root_dir)}
        given = {"stdin": asyncio.subprocess.DEVNULL, **streams}
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "podherd.agent.cli", *words)
        return await asyncio.create_subprocess_exec(*command, env=env, **{"stdout": pipe, "stderr": pipe, **given})

    async def run(self, *words: str, given: bytes | None = None) -> tuple[int | None, bytes, bytes]:
        """Exit code, stdout and stderr of `podherd WORDS`."""
        streams = {} if given is None else {"stdin": asyncio.subprocess.PIPE}
        process = await self.begin(*words, **streams)
        async with asyncio.timeout(BOUND_S):
            out, err = await process.communicate(given)
        return process.returncode, out, err

    @property
    def open(self) -> int:
        """How many commands the server runs."""
        page: Any = next(
            route.handler.__self__  # type: ignore[attr-defined]
            for route in self.stand.actor._runner.app.router.routes()  # type: ignore[union-attr]
            if route.resource is not None and route.resource.canonical == "/v1/exec"
        )
        return int(page._open)


@pytest.fixture
async def door(stand: Stand, cri: Cri) -> Door:
    return Door(stand, cri)


@pytest.mark.parametrize("code", [0, 3, 126, 127])
async def test_the_commands_exit_code_is_podherds(door: Door, code: int) -> None:
    await door.pod()
    found = await door.run("exec", "web", "--", "sh", "-c", f"echo said; echo cried >&2; exit {code}")
    assert found == (code, b"said\n", b"cried\n")


@pytest.mark.parametrize(
    ("why", "code", "next_step"),
    [
        ('exec: "x": executable file not found in $PATH', 127, True),
        ('exec: "x": permission denied', 126, True),
        ("cannot join the namespaces: permission denied", 1, False),
    ],
)
async def test_a_command_that_cannot_be_started_has_the_shells_code(
    door: Door, hollow: Hollow, why: str, code: int, next_step: bool
) -> None:
    await door.pod()
    async with Control(hollow.endpoint) as control:
        await control.script([{"actions": {"exec-error": why}}])
        found, out, err = await door.run("exec", "web", "--", "x", "-y")
        await control.script()
    assert (found, out, why in err.decode(), "whole path" in err.decode()) == (code, b"", True, next_step)


async def test_piped_stdin_ends_and_the_command_with_it(door: Door) -> None:
    await door.pod()
    assert await door.run("exec", "-i", "web", "--", "cat", given=b"hi\n") == (0, b"hi\n", b"")
    assert await door.run("exec", "-i", "web", "--", "cat", given=b"") == (0, b"", b"")
    assert await door.run("exec", "web", "--", "cat", given=b"not passed on") == (0, b"", b"")
    every = bytes(range(256)) * 20_000
    code, out, _ = await door.run("exec", "-i", "web", "--", "cat", given=every)
    assert (code, hashlib.sha256(out).digest()) == (0, hashlib.sha256(every).digest())


async def test_large_output_to_a_slow_reader_is_held_nowhere(door: Door) -> None:
    await door.pod()
    size = 100_000_000
    process = await door.begin("exec", "web", "--", "head", "-c", str(size), "/dev/zero")
    assert process.stdout is not None
    await process.stdout.readexactly(1000)
    before, got = _rss_kib(os.getpid()), 1000
    async with asyncio.timeout(BOUND_S):
        while data := await process.stdout.read(1 << 20):
            got += len(data)
            if got < 2_000_000:
                assert (await door.stand.get("/v1/summary"))[0] == 200  # others are answered meanwhile
        assert await process.wait() == 0
    assert got == size
    assert _rss_kib(os.getpid()) - before < 20_000


def _rss_kib(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


async def test_a_reader_that_has_seen_enough_ends_it_quietly(door: Door) -> None:
    await door.pod()
    process = await door.begin("exec", "web", "--", "head", "-c", "100000000", "/dev/zero")
    assert process.stdout is not None
    assert process.stderr is not None
    await process.stdout.readexactly(10)
    process.stdout._transport.close()  # type: ignore[attr-defined]
    async with asyncio.timeout(BOUND_S):
        assert await process.stderr.read() == b""
        await process.wait()
    await until(lambda: door.open == 0)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("exec", "nope", "--", "true"), 1, "pod nope: there is no such pod on this node"),
        (("exec", "web", "-c", "x", "--", "true"), 1, "it has: app, side"),
        (("attach", "web", "-c", "x"), 1, "pod web-n1 has no such container"),
        (("exec", "web"), 2, "Missing argument"),
        (("exec", "web", "-c", "app", "-it", "--", "true"), 0, "no terminal for the command: stdin is not a terminal"),
        (("exec", "web", "-c", "app", "-t", "--", "true"), 0, "no terminal for the command: it needs --stdin"),
        (("exec", "web", "--", "true"), 0, 'Defaulted container "app" out of: app, side'),
    ],
)
async def test_words_say_what_cannot_be_done(door: Door, words: tuple[str, ...], code: int, said: str) -> None:
    await door.pod(containers=("app", "side"))
    found, _, err = await door.run(*words)
    assert (found, said in err.decode()) == (code, True), err.decode()


async def test_a_container_that_does_not_run_is_named_with_its_state(door: Door, stand: Stand) -> None:
    ids = await door.pod()
    await door.cri.stop_container(ids["app"], 0)
    code, _, err = await door.run("exec", "web", "--", "true")
    assert (code, "container app: is not running: it is exited" in err.decode()) == (1, True)
    await stand.add(changed("new-n1"))
    _, _, err = await door.run("exec", "new", "--", "true")
    assert "is not running: it has not been created" in err.decode()


async def test_a_runtime_that_is_away_is_named(door: Door, hollow: Hollow) -> None:
    await door.pod()
    hollow.end()
    try:
        code, _, err = await door.run("exec", "web", "--", "true")
        assert (code, "the container runtime: does not answer" in err.decode()) == (1, True)
        assert (await door.stand.get("/v1/top"))[0] == 503
    finally:
        hollow.start()


async def answering_cat(door: Door) -> asyncio.subprocess.Process:
    """`podherd exec -i web -- cat`, which has answered once."""
    await door.pod()
    process = await door.begin("exec", "-i", "web", "--", "cat", stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"there\n")
    assert await process.stdout.readline() == b"there\n"
    return process


async def test_a_runtime_that_dies_under_a_command_is_told(door: Door, hollow: Hollow) -> None:
    process = await answering_cat(door)
    hollow.kill9()
    try:
        async with asyncio.timeout(BOUND_S):
            _, err = await process.communicate()
        assert (process.returncode, b"before it told how the command ended" in err) == (1, True)
    finally:
        hollow.start()


async def test_ctrl_c_ends_podherd_and_the_streams_with_it(door: Door) -> None:
    process = await answering_cat(door)
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(BOUND_S):
        assert await process.wait() == 130
    await until(lambda: door.open == 0)


async def test_a_client_that_vanishes_while_its_stdin_is_not_read_is_noticed(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podherd.server.relay.ALIVE_S", 0.05)
    await door.pod()
    process = await door.begin("exec", "-i", "web", "--", "sleep", "600", stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"x" * 8_000_000)
    await until(lambda: door.open == 1)
    process.kill()
    await process.wait()
    await until(lambda: door.open == 0)


async def test_fifty_commands_hold_up_no_other_answer(door: Door) -> None:
    await door.pod()
    words = {"pod": "web", "command": "cat", "stdin": "1", "stdout": "1"}
    sockets = await asyncio.gather(
        *(door.stand.client.ws_connect("http://podherd/v1/exec", params=words) for _ in range(50))
    )
    try:
        for number, socket in enumerate(sockets):
            await socket.send_bytes(b"\0" + str(number).encode())
        async with asyncio.timeout(BOUND_S):  # all fifty run meanwhile, and would go on for ever
            assert (await door.stand.get("/v1/pods"))[0] == 200
            said = [await socket.receive_bytes() for socket in sockets]
        assert (said, door.open) == ([b"\1" + str(n).encode() for n in range(50)], 50)
    finally:
        await asyncio.gather(*(socket.close() for socket in sockets))
    await until(lambda: door.open == 0)


async def test_too_many_commands_are_refused_with_words(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_page, "STREAMS", 0)
    await door.pod()
    code, _, err = await door.run("exec", "web", "--", "true")
    assert (code, b"commands run already" in err) == (1, True)


async def test_what_is_no_request_is_refused(door: Door) -> None:
    await door.pod()
    assert (await door.stand.get("/v1/exec", pod="web", stdout="1"))[1]["reason"] == "no command is given"
    assert (await door.stand.get("/v1/exec", pod="web", command="true"))[1]["reason"] == "none is asked for"


async def test_without_a_websocket_nothing_is_run(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cri, "exec_url", None)
    monkeypatch.setattr(Cri, "attach_url", None)
    await door.pod()
    for page in ("exec", "attach"):
        code, said = await door.stand.get(f"/v1/{page}", pod="web", command="true", stdout="1")
        assert (code, said["reason"]) == (400, "the request is not that of a WebSocket")


async def test_a_shard_that_is_away_stops_no_command(door: Door) -> None:
    await door.pod()
    door.stand.actor._questions._answer_s = 0.05
    door.stand.owner("default", "web-n1").answers = False
    assert (await door.run("exec", "web", "--", "echo", "still"))[:2] == (0, b"still\n")


class Terminal:
    """A terminal with a command on it."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        termios.tcsetwinsize(self.slave, (31, 97))
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""

    def has(self, text: bytes) -> bool:
        """Whether the screen has shown it by now."""
        os.set_blocking(self.master, False)
        with suppress(BlockingIOError):
            self.seen += os.read(self.master, 65536)
        return text in self.seen

    def is_raw(self) -> bool:
        """Whether keys go through as they are."""
        return not termios.tcgetattr(self.slave)[3] & (termios.ICANON | termios.ISIG)

    def close(self) -> None:
        """Away with it."""
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    one = Terminal()
    yield one
    one.close()


async def on(terminal: Terminal, door: Door, *words: str) -> asyncio.subprocess.Process:
    where = terminal.slave
    return await door.begin(*words, stdin=where, stdout=where, stderr=where, start_new_session=True)


async def test_a_terminal_is_raw_for_the_command_with_its_size_and_is_restored(door: Door, terminal: Terminal) -> None:
    await door.pod()
    process = await on(terminal, door, "exec", "-it", "web", "--", "sh", "-c", "stty size; cat; exit 9")
    await until(lambda: terminal.has(b"31 97"))
    assert terminal.is_raw()
    os.write(terminal.master, b"\x03typed\r")
    await until(lambda: terminal.has(b"\x03typed\r"))
    process.terminate()
    async with asyncio.timeout(BOUND_S):
        assert await process.wait() == 128 + signal.SIGTERM
    assert termios.tcgetattr(terminal.slave) == terminal.before


async def test_a_terminal_is_restored_when_the_agent_goes_away(door: Door, terminal: Terminal) -> None:
    await door.pod()
    process = await on(terminal, door, "exec", "-it", "web", "--", "cat")
    await until(terminal.is_raw)
    await door.stand.actor.stop()
    async with asyncio.timeout(BOUND_S):
        assert await process.wait() == 1
    assert termios.tcgetattr(terminal.slave) == terminal.before
    await until(lambda: terminal.has(b"the agent went away before the command ended"))


async def test_attach_joins_a_container_and_ends_with_it(door: Door) -> None:
    ids = await door.pod(stdin=True)
    process = await door.begin("attach", "-i", "web", stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"hello\n")
    assert await process.stdout.readline() == b"hello\n"
    await door.cri.stop_container(ids["app"], 0)
    async with asyncio.timeout(BOUND_S):
        await process.communicate()
    assert process.returncode == 0


async def test_attach_without_stdin_in_the_container_says_so(door: Door) -> None:
    ids = await door.pod()
    process = await door.begin("attach", "-i", "web")
    assert process.stderr is not None
    assert await process.stderr.readline() == b"container app has no stdin: only its output is shown\n"
    await door.cri.stop_container(ids["app"], 0)
    async with asyncio.timeout(BOUND_S):
        assert await process.wait() == 0


async def test_a_websocket_of_v5_is_what_the_page_speaks(door: Door) -> None:
    await door.pod()
    words = {"pod": "web", "command": "cat", "stdin": "1", "stdout": "1"}
    async with door.stand.client.ws_connect(
        "http://podherd/v1/exec", params=words, protocols=("v5.channel.k8s.io",)
    ) as socket:
        assert socket.protocol == "v5.channel.k8s.io"
        await socket.send_str("no binary message")
        await socket.send_bytes(b"\x09unknown channel")
        await socket.send_bytes(b"\0x")
        assert await socket.receive_bytes() == b"\1x"
        await socket.send_bytes(b"\xff\0")
        status = await socket.receive_bytes()
        assert (status[:1], json.loads(status[1:])["status"]) == (b"\3", "Success")
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_top_shows_pods_containers_and_the_node(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.server.top_page.SPAN_S", 0.05)
    await door.pod(containers=("app", "side"))
    _, out, err = await door.run("top", "--containers")
    rows = [line.split() for line in out.decode().splitlines()]
    assert (rows[0], err) == (["NAMESPACE", "POD", "NAME", "CPU(cores)", "MEMORY(bytes)"], b"")
    assert [row[:3] for row in rows[1:]] == [["default", "web-n1", "app"], ["default", "web-n1", "side"]]
    assert all(row[3].endswith("m") and row[4] == "4Mi" for row in rows[1:])
    _, out, _ = await door.run("top", "node")
    assert re.fullmatch(r"n1 +\d+m +\d+% +\d+Mi +\d+%", out.decode().splitlines()[1])
    _, out, _ = await door.run("top", "-n", "none", "-o", "json")
    assert json.loads(out)["items"] == []


async def test_top_on_a_terminal_goes_on_until_ctrl_c(
    door: Door, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("podherd.server.top_page.SPAN_S", 0.01)
    await door.pod()
    process = await on(terminal, door, "top")
    await until(lambda: terminal.has(b"web-n1"), BOUND_S)
    assert process.returncode is None
    process.send_signal(signal.SIGINT)
    async with asyncio.timeout(BOUND_S):
        assert await process.wait() == 0


async def test_many_askers_of_top_cost_the_runtime_one_sample(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.server.top_page.SPAN_S", 0.01)
    await door.pod()
    asked = 0
    real = Cri.container_stats

    async def counting(self: Cri, timeout_s: float | None = None) -> Any:
        nonlocal asked
        asked += 1
        return await real(self, timeout_s)

    monkeypatch.setattr(Cri, "container_stats", counting)
    answers = await asyncio.gather(*(door.stand.get("/v1/top") for _ in range(20)))
    assert {code for code, _ in answers} == {200}
    assert asked == 2


async def test_delete_says_where_the_pod_comes_from(door: Door, stand: Stand) -> None:
    await door.pod()
    code, out, err = await door.run("delete", "pod", "web")
    assert (code, out) == (1, b"")
    assert b"pod default/web-n1: is a static pod and comes from /m/web.yaml" in err
    await stand.add(replace(changed("old-n1"), source=""))
    code, _, err = await door.run("delete", "pod", "old")
    assert (code, b"no source is known to want it" in err) == (1, True)
