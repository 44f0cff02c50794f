"""Holds a shutdown of the machine back until the pods have ended (kubelet behaviour, section 7)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from podherd.logind import CONF_DIR, Logind, LogindError, let_go
from podherd.machines import node_events as heard

AGAIN_S = 1.0
"""After the bus has broken off."""
WHO = "podherd"
WHY = "podherd needs time to handle node shutdown"

Turn = Callable[[heard.Event], None]


class ShutdownDelay:
    """needed_s: how long the pods may take. turn: the actor's, for ShuttingDown. It never raises for what a bus does.

    The lock is kept when the bus goes: the one that is taken afterwards comes in its place.
    """

    def __init__(self, needed_s: int, turn: Turn, log: Any, conf_dir: Path = CONF_DIR) -> None:
        self._needed_s = needed_s
        self._turn = turn
        self._log = log
        self._conf_dir = conf_dir
        self._logind: Logind | None = None
        self._lock: int | None = None

    async def run(self) -> None:
        """For ever; where there is no logind at the start it is off, in one line of the log."""
        try:
            await self._watch()
        except LogindError as error:
            self._log.warning("graceful node shutdown is off", reason=str(error))
            return
        reason = ""
        while True:
            await asyncio.sleep(AGAIN_S)
            try:
                await self._watch()
                reason = ""
            except LogindError as error:
                if str(error) != reason:
                    reason = str(error)
                    self._log.warning("shutdowns are not watched", reason=reason)

    async def _watch(self) -> None:
        """Until the bus breaks off. Raises LogindError when it cannot begin."""
        logind = await Logind.connect()
        try:
            if await logind.longest_delay_s() < self._needed_s:
                await logind.allow_delay(self._needed_s, self._conf_dir)
            await logind.listen(self._told)
            self._logind = logind
            if await logind.is_preparing():
                self._told(True)
            else:
                await self._take(logind)
                self._log.info("graceful node shutdown is on", delay_s=self._needed_s)
            await logind.wait_lost()
        finally:
            self._logind = None
            logind.close()

    def _told(self, active: bool) -> None:
        self._log.info("shutdown of the machine", begins=active)
        self._turn(heard.ShuttingDown(active))

    async def hold(self) -> None:
        """Hold the next one back too, after one that was called off."""
        if self._logind is None:
            return
        try:
            await self._take(self._logind)
        except LogindError as error:
            self._log.warning("the next shutdown is not held back", reason=str(error))

    async def _take(self, logind: Logind) -> None:
        lock = await logind.inhibit(WHO, WHY)
        self.release()
        self._lock = lock

    def release(self) -> None:
        """Let the machine shut down."""
        lock, self._lock = self._lock, None
        if lock is not None:
            let_go(lock)
