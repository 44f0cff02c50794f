"""The PLEG on the synchronous bus: lists and looks take their time, so that no view is a picture of one moment."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from tests.flow.actors import Actor
from tests.flow.timeline import Timer, wait

from podherd.cri.convert.observed import _newness
from podherd.errors import CriError
from podherd.machines.pleg import events as heard
from podherd.machines.pleg import instructions as told
from podherd.machines.pleg.machine import PlegMachine
from podherd.machines.pleg.rules import Rules
from podherd.model.keys import shard_of
from podherd.native.changes import ABSENT, CONTAINER, SANDBOX, Change
from podherd.wire import codec
from podherd.wire.observed import ContainerSeen, Observed, SandboxSeen
from podherd.wire.routes import NODE, POD_SHARD, SERVER

if TYPE_CHECKING:
    from tests.flow.runtime import Box, Proc

Table = dict[str, tuple[str, str, str, str]]
"""By id: kind, pod uid, pod name, state."""


class PlegActor(Actor):
    """As `actors/pleg`; the table is compared by plain code in place of `native`, which has tests of its own."""

    def boot(self) -> None:
        self._machine = PlegMachine(Rules(self.world.shards, self.world.relist_s))
        self._table: Table = {}
        self._late: list[heard.Event] = []
        self._alarm: Timer | None = None
        self._turn([heard.Woke()])

    def receive(self, sender: str, messages: list[codec.Message]) -> None:  # noqa: ARG002
        self._turn(messages)

    def hint(self, uid: str, ident: str) -> None:
        """A container event of the runtime."""
        if self.up:
            self._turn([heard.Stopped(uid, ident)])

    def _turn(self, events: list[heard.Event]) -> None:
        for instruction in self._machine.handle(self.world.wall(), *events):
            self._perform(instruction)

    def _perform(self, instruction: told.Instruction) -> None:
        match instruction:
            case told.Relist():
                self.life.spawn(self._done(self._relist(instruction)))
            case told.Locate():
                self.life.spawn(self._done(self._locate(instruction)))
            case told.Inspect():
                self.life.spawn(self._done(self._inspect(instruction)))
            case told.Tell(observed):
                shard = shard_of(observed.namespace, observed.name, self.world.shards)
                self.send(f"{POD_SHARD}-{shard}", observed)
            case told.TellRoster(shard, roster):
                self.send(f"{POD_SHARD}-{shard}", roster)
            case told.TellHealth(health):
                self.send_role(NODE, health)
                self.send_role(SERVER, health)
            case told.WakeAt(at):
                if self._alarm is not None:
                    self._alarm.cancel()
                self._alarm = self.life.after(at - self.world.wall(), lambda: self._turn([heard.Woke()]))

    async def _done(self, work: Awaitable[heard.Event]) -> None:
        event = await work
        if not self._late:
            self.life.after(0.0, self._turn_of_late)
        self._late.append(event)

    def _turn_of_late(self) -> None:
        late, self._late = self._late, []
        self._turn(late)

    async def _relist(self, it: told.Relist) -> heard.Event:
        runtime = self.world.runtime
        try:
            boxes = await runtime.call("ListPodSandbox", self._boxes)
            table = boxes | await runtime.call("ListContainers", self._procs)
        except CriError as error:
            return heard.RelistFailed(error.reason)
        changes = _changes(self._table, table)
        self._table = table
        return heard.Relisted(it.at, changes, len(boxes), len(table) - len(boxes))

    def _boxes(self) -> Table:
        boxes = self.world.runtime.boxes.values()
        return {box.id: (SANDBOX, box.uid, box.name, "ready" if box.ready else "notready") for box in boxes}

    def _procs(self) -> Table:
        procs = self.world.runtime.procs.values()
        return {proc.id: (CONTAINER, proc.box.uid, proc.box.name, proc.state) for proc in procs}

    async def _locate(self, it: told.Locate) -> heard.Event:
        def listed() -> dict[str, str]:
            table = self._boxes() | self._procs()
            return {ident: row[3] for ident, row in table.items() if row[1] == it.uid}

        try:
            return heard.Located(it.uid, it.at, await self.world.runtime.call("ListContainers", listed))
        except CriError as error:
            return heard.LookFailed(it.uid, error.reason)

    async def _inspect(self, it: told.Inspect) -> heard.Event:
        """One status after the other; what is gone meanwhile is left out."""
        runtime = self.world.runtime
        sandboxes: list[SandboxSeen] = []
        containers: list[ContainerSeen] = []
        try:
            for ident, state in it.states.items():
                await runtime.call("Status", lambda: "")
                if state in ("ready", "notready"):
                    sandboxes += [_sandbox_seen(box) for box in [runtime.boxes.get(ident)] if box]
                else:
                    containers += [_container_seen(proc) for proc in [runtime.procs.get(ident)] if proc]
        except CriError as error:
            return heard.LookFailed(it.uid, error.reason)
        await wait(None, 0.001)
        sandboxes.sort(key=lambda each: (each.attempt, each.created_at), reverse=True)
        containers.sort(key=_newness, reverse=True)
        observed = Observed(it.uid, it.namespace, it.name, it.at, tuple(sandboxes), tuple(containers))
        return heard.Inspected(observed)


def _changes(old: Table, new: Table) -> list[Change]:
    """As the native table tells them; ids are never used again here."""
    changes = []
    for ident, (kind, uid, name, state) in new.items():
        before = old[ident][3] if ident in old else ABSENT
        if before != state:
            changes.append(Change(kind, ident, uid, "default", name, before, state))
    for ident, (kind, uid, name, state) in old.items():
        if ident not in new:
            changes.append(Change(kind, ident, uid, "default", name, state, ABSENT))
    return changes


def _sandbox_seen(box: "Box") -> SandboxSeen:
    ips = (box.ip,) if box.ready else ()
    return SandboxSeen(box.id, box.attempt, box.ready, box.created_at, box.host_network, ips, box.source)


def _container_seen(proc: "Proc") -> ContainerSeen:
    return ContainerSeen(
        id=proc.id, name=proc.name, sandbox_id=proc.box.id, attempt=proc.attempt, state=proc.state,
        created_at=proc.created_at, started_at=proc.started_at, finished_at=proc.finished_at,
        exit_code=proc.exit_code, reason=proc.reason, message="", image=proc.image, image_ref="sha256:1",
        annotations=proc.annotations,
    )  # fmt: skip
