"""The PLEG actor: lists the runtime, inspects what changed, tells the shards. It decides nothing (machines/pleg)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, ClassVar

from cri_api.v1 import api_pb2 as pb

from podherd.actors.shell import Shell
from podherd.cri.client import Cri
from podherd.cri.convert.observed import observed
from podherd.errors import CriError, PodherdError
from podherd.machines.pleg import events as heard
from podherd.machines.pleg import instructions as told
from podherd.machines.pleg.hints import PAUSE_S, Hints
from podherd.machines.pleg.machine import PlegMachine
from podherd.machines.pleg.rules import Rules
from podherd.model.keys import shard_of
from podherd.native import Table
from podherd.native.changes import CONTAINER_STATES, SANDBOX_STATES
from podherd.steps.last_words import LastWords
from podherd.wire import codec
from podherd.wire.routes import NODE, POD_SHARD, SERVER

LOOK_S = 10.0
"""Time for one look at one pod, all of its calls together."""
LIST_S = 60.0
HINTS_AGAIN_S = 5.0
NOT_FOUND = "NOT_FOUND"


class PlegActor(Shell):
    """Answers that come in the same turn of the loop go into one call of the machine."""

    hello_to: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        settings = self.settings
        self._machine = PlegMachine(Rules(settings.shards, settings.relist_s))
        self._table = Table()
        self._late: list[heard.Event] = []
        self._alarm: asyncio.TimerHandle | None = None
        self._cri: Cri | None = None
        self._relist_trouble = ""
        self._perform: dict[type, Callable[[Any], None]] = {
            told.Tell: self._tell,
            told.TellRoster: lambda it: self.send(f"{POD_SHARD}-{it.shard}", it.roster),
            told.TellHealth: self._tell_health,
            told.WakeAt: self._set_alarm,
        }

    async def start(self) -> None:
        """Begin to list; a runtime that is away fails the first relists."""
        settings = self.settings
        cri = self._cri = Cri(settings.runtime_endpoint, settings.image_endpoint, settings.runtime_request_s)
        looker = Looker(cri, LastWords(settings.root_dir, settings.pod_logs_dir))
        self.keep_journal(self._machine)
        self._perform[told.Relist] = lambda it: self._do(self._relist(cri, it), heard.RelistFailed, "relist")
        self._perform[told.Locate] = lambda it: self._look(looker.locate(it), it.uid, "locate")
        self._perform[told.Inspect] = lambda it: self._look(looker.inspect(it), it.uid, "inspect")
        await super().start()
        self._turn([heard.Woke()])
        self.spawn(self._hints(cri), "container events", vital=True)

    async def stop(self) -> None:
        """Leave the runtime."""
        if self._alarm is not None:
            self._alarm.cancel()
        await super().stop()
        if self._cri is not None:
            await self._cri.close()

    def receive(self, sender: str, messages: list[codec.Message]) -> None:  # noqa: ARG002
        """Reinspect and Hello are all that it hears, from shards, and the machine's."""
        self._turn(messages)

    def _turn(self, events: list[heard.Event]) -> None:
        now = self.clock()
        answer = self._machine.handle(now, *events)
        self.journal.turn(now, () if self.frame else events, self.frame, answer)
        for instruction in answer:
            self._perform[type(instruction)](instruction)

    def _look(self, work: Awaitable[heard.Event], uid: str, what: str) -> None:
        self._do(work, lambda reason: heard.LookFailed(uid, reason), f"{what} {uid}")

    def _do(self, work: Awaitable[heard.Event], failed: Callable[[str], heard.Event], what: str) -> None:
        self.spawn(self._done(work, failed, what), what)

    async def _done(self, work: Awaitable[heard.Event], failed: Callable[[str], heard.Event], what: str) -> None:
        """Whatever comes of it is an answer: without one the machine would wait for ever."""
        try:
            event = await work
        except Exception as error:
            self.log.exception("look failed", what=what)
            event = failed(f"{type(error).__name__}: {error}")
        if not self._late:
            asyncio.get_running_loop().call_soon(self.vitally, self._turn_of_late)
        self._late.append(event)

    def _turn_of_late(self) -> None:
        late, self._late = self._late, []
        self._turn(late)

    def _tell(self, it: told.Tell) -> None:
        seen = it.observed
        self.send(f"{POD_SHARD}-{shard_of(seen.namespace, seen.name, self.settings.shards)}", seen)

    def _tell_health(self, it: told.TellHealth) -> None:
        self.send_role(NODE, it.health)
        self.send_role(SERVER, it.health)

    def _set_alarm(self, it: told.WakeAt) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self.wake_at(it.at, lambda: self._turn([heard.Woke()]))

    async def _relist(self, cri: Cri, it: told.Relist) -> heard.Event:
        try:
            # One after the other: a container whose sandbox is not listed yet would be of no known pod.
            boxes = await cri.list_sandboxes_raw(LIST_S)
            changes = self._table.relist(boxes, await cri.list_containers_raw(LIST_S))
        except PodherdError as error:
            self._note_trouble(str(error))
            return heard.RelistFailed(str(error))
        self._note_trouble("")
        return heard.Relisted(it.at, changes, *self._table.counts())

    def _note_trouble(self, reason: str) -> None:
        """Say a reason once, and once that it is over."""
        if reason and reason != self._relist_trouble:
            self.log.warning("relist failed", reason=reason)
        elif self._relist_trouble and not reason:
            self.log.info("relist works again")
        self._relist_trouble = reason

    async def _hints(self, cri: Cri) -> None:
        """Container events, for as long as the runtime has them; what is lost, the next relist finds."""
        while True:
            pause_s = HINTS_AGAIN_S
            try:
                async with aclosing(cri.events()) as events:
                    if await self._hear_until_flood(events):
                        pause_s = PAUSE_S
            except CriError as error:
                if error.code == "UNIMPLEMENTED":
                    return
            await asyncio.sleep(pause_s)

    async def _hear_until_flood(self, events: AsyncIterator[pb.ContainerEventResponse]) -> bool:
        """Pass on what stopped; whether it ended because there was too much, and not because the stream did."""
        hints = Hints()
        async for event in events:
            if event.container_event_type == pb.CONTAINER_STOPPED_EVENT:
                self._turn([heard.Stopped(event.pod_sandbox_status.metadata.uid, event.container_id)])
            if hints.is_flood(self.clock()):
                return True
        return False


class Looker:
    """Looks at one pod; an error of the runtime becomes an event."""

    def __init__(self, cri: Cri, last_words: LastWords) -> None:
        self._cri = cri
        self._last_words = last_words

    async def locate(self, it: told.Locate) -> heard.Event:
        """List the pod."""
        try:
            boxes, held = await self._cri.list_pod(it.uid, LOOK_S)
        except CriError as error:
            return heard.LookFailed(it.uid, str(error))
        states = {box.id: SANDBOX_STATES[min(box.state, len(SANDBOX_STATES) - 1)] for box in boxes}
        states.update((each.id, CONTAINER_STATES[min(each.state, len(CONTAINER_STATES) - 1)]) for each in held)
        return heard.Located(it.uid, it.at, states)

    async def inspect(self, it: told.Inspect) -> heard.Event:
        """The status of each id, sandboxes and containers side by side, within LOOK_S for all."""
        boxes = [ident for ident, state in it.states.items() if state in SANDBOX_STATES]
        others = [ident for ident, state in it.states.items() if state not in SANDBOX_STATES]
        try:
            async with asyncio.timeout(LOOK_S):
                sandboxes, statuses = await asyncio.gather(self._sandboxes(boxes), self._containers(others))
                places = await self._places(it.uid, boxes, statuses)
                await self._add_last_words(statuses)
        except CriError as error:
            return heard.LookFailed(it.uid, str(error))
        except TimeoutError:
            return heard.LookFailed(it.uid, f"the runtime has not answered within {LOOK_S:g} s")
        contained = ((places[status.id], status) for status in statuses if status.id in places)
        return heard.Inspected(observed(it.uid, it.namespace, it.name, it.at, sandboxes, contained))

    async def _sandboxes(self, ids: list[str]) -> list[pb.PodSandboxStatus]:
        """Of those that are still there, asked one after the other: a pod of many is no rush of calls."""
        return [reply.status for ident in ids if (reply := await _found(self._cri.sandbox_status(ident)))]

    async def _containers(self, ids: list[str]) -> list[pb.ContainerStatus]:
        """The same for containers."""
        return [status for ident in ids if (status := await _found(self._cri.container_status(ident)))]

    async def _add_last_words(self, statuses: list[pb.ContainerStatus]) -> None:
        """Files that a container may have filled are read beside the loop; mostly there are none."""
        sharers = len({status.metadata.name for status in statuses})
        for status in statuses:
            if self._last_words.is_due(status):
                await asyncio.to_thread(self._last_words.add, status, sharers)

    async def _places(self, uid: str, boxes: list[str], statuses: list[pb.ContainerStatus]) -> dict[str, str]:
        """The sandbox of each container, which only a list tells: needed where the pod has not exactly one sandbox."""
        if len(boxes) == 1 or not statuses:
            return {status.id: boxes[0] for status in statuses}
        _, held = await self._cri.list_pod(uid)
        return {each.id: each.pod_sandbox_id for each in held}


async def _found(call: Awaitable[Any]) -> Any:
    """The reply, or None for what is gone."""
    try:
        return await call
    except CriError as error:
        if error.code == NOT_FOUND:
            return None
        raise
