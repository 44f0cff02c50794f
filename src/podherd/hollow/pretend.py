"""Commands that a pretend container knows, enough to try every stream: there is no process behind them.

`cat`, `echo WORDS [>&2]`, `head -c N /dev/zero`, `sleep S`, `stty size`, `true`, `false`, and `sh -c` with such
commands and `exit N`, parted by `;` or lines. Any other command does what the script's `exec-*` actions say.
"""

import asyncio
import shlex
from collections.abc import Sequence
from typing import Protocol

from podherd.hollow.behaviour import Behaviour
from podherd.hollow.refusal import RefusedError

CHUNK_BYTES = 32 * 1024
_SHELLS = ("sh", "/bin/sh")


class Streams(Protocol):
    """What a command reads and writes."""

    async def read(self) -> bytes:
        """The next of stdin, empty at its end."""

    async def out(self, data: bytes) -> None:
        """To stdout."""

    async def err(self, data: bytes) -> None:
        """To stderr, or to the terminal."""

    async def size(self) -> tuple[int, int]:
        """Rows and columns of the terminal, once it has been told any."""


async def run(command: Sequence[str], streams: Streams, behaviour: Behaviour) -> int:
    """Run it to its end; the exit code. Raises RefusedError when it is scripted not to start."""
    match list(command):
        case [shell, "-c", script, *_] if shell in _SHELLS:
            return await _script(script, streams, behaviour)
        case ["cat"]:
            while data := await streams.read():
                await streams.out(data)
        case ["echo", *words, ">&2"]:
            await streams.err(f"{' '.join(words)}\n".encode())
        case ["echo", *words]:
            await streams.out(f"{' '.join(words)}\n".encode())
        case ["head", "-c", count, "/dev/zero"]:
            for at in range(0, int(count), CHUNK_BYTES):
                await streams.out(bytes(min(CHUNK_BYTES, int(count) - at)))
        case ["sleep", seconds]:
            await asyncio.sleep(float(seconds))
        case ["stty", "size"]:
            await streams.out("{} {}\r\n".format(*await streams.size()).encode())
        case ["true"]:
            return 0
        case ["false"]:
            return 1
        case _:
            return await _scripted(streams, behaviour)
    return 0


async def _script(script: str, streams: Streams, behaviour: Behaviour) -> int:
    code = 0
    for line in script.replace("\n", ";").split(";"):
        words = shlex.split(line)
        if words[:1] == ["exit"]:
            return int(words[1]) if len(words) > 1 else code
        if words:
            code = await run(words, streams, behaviour)
    return code


async def _scripted(streams: Streams, behaviour: Behaviour) -> int:
    await asyncio.sleep(behaviour.exec_delay_s)
    if behaviour.exec_error:
        raise RefusedError(behaviour.error_code, f"failed to exec in container: {behaviour.exec_error}")
    if behaviour.exec_stdout:
        await streams.out(behaviour.exec_stdout.encode())
    if behaviour.exec_stderr:
        await streams.err(behaviour.exec_stderr.encode())
    return behaviour.exec_exit_code
