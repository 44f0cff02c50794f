"""A hollow runtime as a child process, for whoever wants one: the agent, a benchmark, a test."""

import asyncio
import sys
from contextlib import suppress
from pathlib import Path

from podherd.errors import RuntimeRefusedError

_READY_S = 30.0
_STOP_S = 10.0


class HollowChild:
    """A server that is ready. It dies with this process."""

    def __init__(self, endpoint: str, process: asyncio.subprocess.Process) -> None:
        self.endpoint = endpoint
        self._process = process

    @property
    def pid(self) -> int:
        """Of the server process."""
        return self._process.pid

    async def stop(self) -> int:
        """SIGTERM, SIGKILL after 10 s; the exit code."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(_STOP_S):
                return await self._process.wait()
        except TimeoutError:
            self._process.kill()
            return await self._process.wait()


async def start_child(socket: Path, *options: str) -> HollowChild:
    """Start `python -m podherd.hollow --socket SOCKET OPTIONS` and wait until it serves.

    Raises RuntimeRefusedError with what it wrote on stderr when it ends before.
    """
    command = (sys.executable, "-m", "podherd.hollow", "--socket", str(socket), "--die-with-parent", *options)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    if process.stdout is None or process.stderr is None:
        raise RuntimeRefusedError(str(socket), "the hollow runtime has no output to read")
    try:
        async with asyncio.timeout(_READY_S):
            line = (await process.stdout.readline()).decode()
    except TimeoutError:
        line = ""
    if not line.startswith("ready "):
        with suppress(ProcessLookupError):
            process.kill()
        said = (await process.stderr.read()).decode().strip()
        await process.wait()
        raise RuntimeRefusedError(str(socket), f"the hollow runtime did not start: {said or 'no reason given'}")
    return HollowChild(line.removeprefix("ready ").strip(), process)
