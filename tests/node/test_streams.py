"""Exec, attach, top and followed logs on a whole agent over real containers (case LOG-1)."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.kit.agent import Agent, looping
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX

SECONDS = 60.0

WRITER = f"""apiVersion: v1
kind: Pod
metadata: {{name: writer}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: {BUSYBOX}
    command: ["/bin/sh", "-c"]
    args:
    - |
      i=1; while [ $i -le 100 ]; do echo line $i; i=$((i+1)); done
      while [ ! -e /go/on ]; do sleep 0.05; done
      while [ $i -le 200 ]; do
        if [ $i = 150 ]; then printf 'line '; head -c 40000 /dev/zero; echo; else echo line $i; fi
        i=$((i+1))
      done
      while [ ! -e /go/end ]; do sleep 0.05; done
    volumeMounts:
    - {{name: go, mountPath: /go}}
  volumes:
  - name: go
    hostPath: {{path: GO, type: DirectoryOrCreate}}
"""


async def podherd(agent: Agent, *words: str, given: bytes = b"") -> tuple[int | None, bytes, bytes]:
    """Exit code, stdout and stderr of a command line."""
    process = await begin(agent, *words)
    async with asyncio.timeout(SECONDS):
        out, err = await process.communicate(given)
    return process.returncode, out, err


async def begin(agent: Agent, *words: str) -> asyncio.subprocess.Process:
    env = {**os.environ, "PODHERD_ROOT": str(agent.root / "agent")}
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "podherd.agent.cli", *words)
    return await asyncio.create_subprocess_exec(*command, env=env, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 20)


async def test_commands_run_in_real_containers_with_codes_pipes_and_figures(agent: Agent) -> None:
    agent.put("web", looping("web", "said"))
    await until(lambda: agent.states().get("web") == "Running", SECONDS)
    ran = await podherd(agent, "exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 42")
    assert ran == (42, b"out\n", b"err\n")
    assert await podherd(agent, "exec", "-i", "web", "--", "cat", given=b"hi\n") == (0, b"hi\n", b"")
    every = bytes(range(256)) * 40_000
    assert (await podherd(agent, "exec", "-i", "web", "--", "cat", given=every))[1] == every
    code, _, err = await podherd(agent, "exec", "web", "--", "no-such-program")
    assert (code, b"no-such-program" in err) == (127, True)
    _, out, _ = await podherd(agent, "top", "--once")
    assert out.decode().splitlines()[1].split()[:2] == ["default", "web-test"]
    code, _, err = await podherd(agent, "delete", "pod", "web")
    assert (code, str(agent.manifests / "web.yaml") in err.decode()) == (1, True)


async def test_log_1_a_followed_log_is_whole_over_a_rotation_and_ends_with_the_container(
    agent: Agent, figure: Callable[[str], None]
) -> None:
    go = agent.root / "go"
    agent.put("writer", WRITER.replace("GO", str(go)))
    await until(lambda: agent.states().get("writer") == "Running", SECONDS)
    follower = await begin(agent, "logs", "writer", "-f")
    assert follower.stdout is not None
    async with asyncio.timeout(SECONDS):
        seen = [await follower.stdout.readline() for _ in range(100)]
        await _rotate(agent, next((agent.root / "logs" / "pods").glob("default_writer-test_*")) / "main" / "0.log")
        (go / "on").touch()
        seen += [await follower.stdout.readline() for _ in range(100)]
        tail = (await podherd(agent, "logs", "writer", "--tail", "105"))[1].splitlines(keepends=True)
        (go / "end").touch()
        ended = time.monotonic()
        assert await follower.stdout.read() == b""
    took_s = time.monotonic() - ended
    assert await follower.wait() == 0
    lines = [b"line %d\n" % number for number in range(1, 201)]
    lines[149] = b"line " + bytes(40_000) + b"\n"
    assert seen == lines
    assert tail == lines[-105:]  # joined over both files
    figure(f"a followed log ended {took_s:.1f} s after its container was told to end")


async def _rotate(agent: Agent, log: Path) -> None:
    """As the kubelet does: rename, then have the runtime open the log anew."""
    from cri_api.v1 import api_pb2 as pb

    from podherd.cri.client import Cri

    cri = Cri(agent._endpoint)
    listed = pb.ListContainersResponse.FromString(await cri.list_containers_raw()).containers
    (writer,) = (one for one in listed if one.labels["io.kubernetes.pod.name"] == "writer-test")
    os.rename(log, f"{log}.20260102-030405")
    await cri.reopen_log(writer.id)
    await cri.close()
