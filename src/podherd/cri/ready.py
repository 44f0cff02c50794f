"""Waiting for a runtime, and telling one that is away from one that can never do."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from cri_api.v1 import api_pb2 as pb

from podherd.errors import CriError, RuntimeRefusedError

FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 2.0
API = "v1"
MEND = (
    "containerd: take 'cri' out of disabled_plugins in /etc/containerd/config.toml and restart it (1.6 or newer);"
    " CRI-O: version 1.20 or newer"
)

Ask: TypeAlias = Callable[[], Awaitable[pb.VersionResponse]]
"""One Version call."""


async def accept_answer(ask: Ask, endpoint: str) -> pb.VersionResponse:
    """The runtime's version, asked once. Raises RuntimeRefusedError unless it is CRI v1, CriError when it is away."""
    try:
        version = await ask()
    except CriError as error:
        if error.code != "UNIMPLEMENTED":
            raise
        reason = f"does not serve CRI v1 ({error.reason})"
        raise RuntimeRefusedError(f"runtime at {endpoint}", reason, MEND) from error
    if version.runtime_api_version == API:
        return version
    runtime = f"{version.runtime_name} {version.runtime_version}".strip()
    reason = f"{runtime} speaks CRI {version.runtime_api_version or 'of no version'}, not v1"
    raise RuntimeRefusedError(f"runtime at {endpoint}", reason, MEND)


async def until_ready(ask: Ask, endpoint: str, on_wait: Callable[[CriError], None] | None = None) -> pb.VersionResponse:
    """Ask until a runtime answers; `on_wait` hears a reason once, and again when it changes."""
    wait_s, told = FIRST_WAIT_S, ""
    while True:
        try:
            return await accept_answer(ask, endpoint)
        except CriError as error:
            if on_wait and str(error) != told:
                told = str(error)
                on_wait(error)
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)
