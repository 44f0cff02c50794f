"""What every actor shares: one door in, outboxes, tasks and timers that are tracked, a hello at the start."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

import structlog

from podherd.actors.bus import Bus
from podherd.actors.outbox import Outbox
from podherd.journal.journal import Journal, NoJournal, opened
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.routes import check

Clock = Callable[[], float]
EXIT_CODE = 70
"""EX_SOFTWARE of sysexits.h: the actor cannot go on; Ray starts it anew."""


class Shell:
    """A plain class; `ray_bus` makes it a Ray actor. Subclasses feed a machine in `receive`, then do as it says."""

    hello_to: ClassVar[tuple[str, ...]] = ()
    """Roles that hold facts this actor needs whole after a start."""

    def __init__(self, name: str, settings: Settings, bus: Bus, clock: Clock = time.time) -> None:
        self.name = name
        self.settings = settings
        self.bus = bus
        self.clock = clock
        self.log = structlog.get_logger().bind(actor=name)
        self.journal: Journal | NoJournal = NoJournal()
        self.frame = b""
        self._outboxes: dict[str, Outbox] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Begin the actor's own work and say hello. Never waits for a runtime or a peer that may be away."""
        hello = Hello(self.name)
        for role in self.hello_to:
            self.send_role(role, hello)

    async def deliver(self, frame: bytes) -> None:
        """The one door. Returns when the frame was handled; what it set going may run on."""
        batch = codec.decode(frame)
        self.frame = frame
        try:
            self.receive(batch.sender, batch.messages)
        finally:
            self.frame = b""

    def keep_journal(self, machine: Any) -> None:
        """From now on keep what the machine hears and says (`self.frame`: the frame that is being received)."""
        self.journal = opened(
            self.settings, self.name, machine, self.clock(), lambda what, why: self.log.warning(what, reason=why)
        )

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """Handle messages, synchronously and without waiting for anything."""
        raise TypeError(f"{type(self).__name__} does not say how it receives from {sender}: {messages}")

    def send(self, receiver: str, message: codec.Message) -> None:
        """Queue a message for an actor; never blocks, never fails."""
        check(self.name, receiver, type(message))
        self._outbox(receiver).put(message)

    def send_role(self, role: str, message: codec.Message) -> None:
        """Queue a message for every actor of a role."""
        for peer in self.bus.peers(role):
            self.send(peer, message)

    def _outbox(self, receiver: str) -> Outbox:
        if (box := self._outboxes.get(receiver)) is None:
            box = self._outboxes[receiver] = Outbox(self.name, receiver, self.bus)
            self.spawn(box.run(), f"outbox to {receiver}", vital=True)
        return box

    def spawn(self, work: Coroutine[Any, Any, Any], what: str, *, vital: bool = False) -> asyncio.Task[Any]:
        """Run `work` beside the actor; an exception that escapes it is logged with `what`.

        vital: the actor is of no use without it; such an exception is `fatal`.
        """
        task = asyncio.get_running_loop().create_task(work, name=f"{self.name}: {what}")
        self._tasks.add(task)
        task.add_done_callback(self._vital_ended if vital else self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> BaseException | None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.log.error("task failed", task=task.get_name(), exc_info=error)
        return error

    def _vital_ended(self, task: asyncio.Task[Any]) -> None:
        if (error := self._ended(task)) is not None:
            self.fatal(f"{task.get_name()}: {type(error).__name__}: {error}")

    def fatal(self, text: str) -> None:
        """End this process: a restarted actor asks for what it needs; one that is half dead would never be missed."""
        self.log.critical("actor ends", reason=text)
        os._exit(EXIT_CODE)

    def wake_at(self, when: float, call: Callable[[], None]) -> asyncio.TimerHandle:
        """Call `call` once the actor's clock reads `when` (at once if it has passed); its exception is `fatal`."""
        return asyncio.get_running_loop().call_later(max(0.0, when - self.clock()), self.vitally, call)

    def vitally(self, call: Callable[[], None]) -> None:
        """Call it from the loop, where an exception would be lost and whatever it was to set going with it."""
        try:
            call()
        except Exception as error:
            self.log.exception("turn failed")
            self.fatal(f"{self.name}: {type(error).__name__}: {error}")

    async def stop(self) -> None:
        """Cancel every task of the actor and wait until they ended."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.journal.close()
