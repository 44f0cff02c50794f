"""The events actor: what shards, sources and node tell of becomes v1 Events, as the API server can take them."""

from collections.abc import Iterable
from typing import Any, ClassVar
from urllib.parse import quote

from podherd.actors.shell import Shell
from podherd.errors import ApiError, PodherdError
from podherd.kube.connect import connect
from podherd.kube.door import STRATEGIC, Api
from podherd.machines.events import machine
from podherd.wire import codec
from podherd.wire.node import NodeFacts
from podherd.wire.routes import NODE
from podherd.wire.status import NodeEvent, PodEvent

_NOT_FOUND = 404
_REFUSALS = range(400, 500)
_PASSING = frozenset({401, 408, 429})
"""A certificate that is being renewed, and a server that is too busy: these pass, unlike the others of their range."""
_ENDING = "because it is being terminated"


class EventsActor(Shell):
    """One request at a time. Who tells of an event never waits for it."""

    hello_to: ClassVar[tuple[str, ...]] = (NODE,)

    def __init__(self, *args: Any, api: Api | None = None, **words: Any) -> None:
        super().__init__(*args, **words)
        self._machine = machine.EventsMachine(self.settings.node_name)
        self._api = api

    async def start(self) -> None:
        """Find the API server; it may be away."""
        if self._api is None:
            self._api = connect(self.settings, self.settings.event_qps, self.settings.event_burst)
        await super().start()

    async def stop(self) -> None:
        """Leave what is not told yet."""
        await super().stop()
        if self._api is not None:
            await self._api.close()

    def receive(self, _sender: str, messages: list[codec.Message]) -> None:
        """Events, and the uid of the Node object that events about the node name."""
        self._turn(*_heard(messages))

    def _turn(self, *events: machine.Event) -> None:
        for told in self._machine.handle(self.clock(), *events):
            match told:
                case machine.Create() | machine.Patch():
                    self.spawn(self._send(told), told.record.name, vital=True)
                case machine.Wait(until):
                    self.wake_at(until, lambda: self._turn(machine.TryAgain()))
                case machine.Lost(count, reason):
                    self.log.warning("events not told", count=count, reason=reason)

    async def _send(self, told: machine.Create | machine.Patch) -> None:
        self._turn(await self._answer(told))

    async def _answer(self, told: machine.Create | machine.Patch) -> machine.Event:
        record, api = told.record, self._api
        path = f"/api/v1/namespaces/{quote(record.namespace)}/events"
        try:
            if api is None:
                return machine.Away("not connected yet")
            if isinstance(told, machine.Create):
                await api.create(path, record.body(self.settings.node_name))
            else:
                await api.patch(f"{path}/{quote(record.name)}", record.changes(), STRATEGIC)
        except ApiError as error:
            return _outcome(error)
        except PodherdError as error:
            return machine.Away(str(error))
        return machine.Sent()


def _outcome(error: ApiError) -> machine.Event:
    """An answer that was lost makes the next try find its own event; a namespace that ends wants no more of them."""
    if error.code == "AlreadyExists" or _ENDING in error.reason:
        return machine.Sent()
    if error.status == _NOT_FOUND:
        return machine.Unknown()
    if error.status in _REFUSALS and error.status not in _PASSING:
        return machine.Refused(str(error))
    return machine.Away(str(error))


def _heard(messages: Iterable[codec.Message]) -> Iterable[machine.Event]:
    for message in messages:
        match message:
            case PodEvent() | NodeEvent():
                yield message
            case NodeFacts():
                yield machine.NodeIs(message.uid)
