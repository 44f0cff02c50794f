"""Names of a directory that changed, from inotify through watchfiles; and the truth about when there is no inotify."""

import asyncio
import logging
import os
from collections.abc import Awaitable

from watchfiles import awatch

QUIET_MS = 50
"""Changes closer together than this are one: an editor's write and rename."""

logging.getLogger("watchfiles").setLevel(logging.WARNING)


class Watch:
    """Watches one directory at a time; `arm` again when the path leads elsewhere. Used by one task."""

    def __init__(self) -> None:
        self.problem = ""
        """Why nothing is watched although something should be."""
        self._directory = ""
        self._changed: set[str] = set()
        self._moved = False
        self._woken = asyncio.Event()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def active(self) -> bool:
        """Whether changes are being heard of."""
        return self._task is not None and not self._task.done()

    async def arm(self, directory: str) -> None:
        """Watch this directory instead of any other; later changes are heard of, unless `active` is false."""
        await self.close()
        self._directory = directory.rstrip("/") or "/"
        self.problem, self._moved = "", False
        self._changed.clear()
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self._run(self._stop), name=f"watch {directory}")
        await _one_turn()

    async def changes(self, timeout_s: float) -> tuple[set[str], bool]:
        """Names that changed since the last call, after the timeout at the latest; whether the directory itself did."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._woken.wait()
        except TimeoutError:
            return set(), False
        self._woken.clear()
        changed, self._changed = self._changed, set()
        moved, self._moved = self._moved, False
        return changed, moved

    async def close(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._stop.set()
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _run(self, stop: asyncio.Event) -> None:
        try:
            await self._hear(stop)
        except FileNotFoundError:
            self.problem = ""
        except (OSError, RuntimeError) as error:
            mend = "raise fs.inotify.max_user_watches and fs.inotify.max_user_instances"
            self.problem = f"changes are not heard of at once: {error} ({mend})"

    async def _hear(self, stop: asyncio.Event) -> None:
        heard = awatch(
            self._directory, watch_filter=None, debounce=QUIET_MS, step=QUIET_MS, stop_event=stop, recursive=False
        )
        async for changes in heard:
            for _, path in changes:
                folder, name = os.path.split(path)
                if path == self._directory:
                    self._moved = True
                elif folder == self._directory:
                    self._changed.add(name)
            self._woken.set()


def _one_turn() -> Awaitable[None]:
    """Lets the new task run to its first wait: by then the kernel watches."""
    return asyncio.sleep(0)
