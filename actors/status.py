"""The status actor: what shards and sources tell feeds the status machine, its requests go to the API server."""

import asyncio
from typing import Any, ClassVar
from urllib.parse import quote

from podherd.actors.shell import Shell
from podherd.errors import ApiError, PodherdError
from podherd.kube.door import STRATEGIC, Api
from podherd.machines.status import StatusMachine
from podherd.machines.status import events as heard
from podherd.machines.status import instructions as told
from podherd.machines.status.machine import MOST_REQUESTS
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.routes import NODE, POD_SHARD, SOURCES

SHARE = 0.6
"""Of the node's QPS and burst; the rest is for the objects of pods."""
ANSWER_S = 30.0
"""The deadline of one request, apart from its wait for a turn under the QPS."""
Body = dict[str, Any]
_CONFLICT = 409
"""Somebody was faster: nothing that anybody needs to look into."""


class StatusActor(Shell):
    """Several requests at a time, one of each pod: one that is slow delays no other pod."""

    hello_to: ClassVar[tuple[str, ...]] = (SOURCES, POD_SHARD, NODE)

    def __init__(self, *args: Any, api: Api | None = None, **words: Any) -> None:
        super().__init__(*args, **words)
        self._machine = StatusMachine(self.settings.node_name)
        self._api = api
        self._alarm: asyncio.TimerHandle | None = None
        self._away = ""
        self._deadline_s = ANSWER_S

    async def start(self) -> None:
        """Find the API server, which may be away, and ask for all that is known."""
        settings = self.settings
        qps, burst = settings.kube_api_qps * SHARE, max(1, round(settings.kube_api_burst * SHARE))
        if qps > 0:
            self._deadline_s += MOST_REQUESTS / qps
        if self._api is None:
            self._api = _opened(settings, qps, burst)
        self.keep_journal(self._machine)
        await super().start()

    async def stop(self) -> None:
        """Break off what is under way; who comes next sees what became of it."""
        if self._alarm is not None:
            self._alarm.cancel()
        await super().stop()
        if self._api is not None:
            await self._api.close()

    def receive(self, _sender: str, messages: list[codec.Message]) -> None:
        """All of it is the machine's."""
        self._turn(self.frame, *messages)

    def _turn(self, frame: bytes, *events: heard.Event) -> None:
        """One turn of the machine; the events are those of the frame, or the actor's own."""
        now = self.clock()
        answer = self._machine.handle(now, *events)
        self.journal.turn(now, () if frame else events, frame, answer)
        for instruction in answer:
            if isinstance(instruction, told.WakeAt):
                self._wake_for(instruction.at)
            else:
                what = f"{type(instruction).__name__} {instruction.namespace}/{instruction.name}"
                self.spawn(self._carry_out(instruction), what, vital=True)

    def _wake_for(self, at: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self.wake_at(at, lambda: self._turn(b"", heard.Woke()))

    async def _carry_out(self, request: told.Request) -> None:
        outcome = await self._outcome(request)
        self._note(request, outcome)
        self._turn(b"", outcome)

    async def _outcome(self, request: told.Request) -> heard.Outcome:
        """What became of it, whatever that is."""
        name = (request.namespace, request.name)
        try:
            async with asyncio.timeout(self._deadline_s):
                return await self._ask(request)
        except ApiError as error:
            return heard.Failed(*name, error.status, error.code, error.reason, error.retry_after_s)
        except TimeoutError:
            return heard.Failed(*name, 0, "", f"no answer within {self._deadline_s:.0f} s")
        except PodherdError as error:
            return heard.Failed(*name, 0, "", str(error))
        except Exception as error:
            self.log.exception("request failed", pod="/".join(name))
            return heard.Failed(*name, 500, "", f"{type(error).__name__}: {error}")

    async def _ask(self, request: told.Request) -> heard.Outcome:
        if (api := self._api) is None:
            raise PodherdError("API server", "not connected yet")
        name = (request.namespace, request.name)
        pods = f"/api/v1/namespaces/{quote(request.namespace, safe='')}/pods"
        path = f"{pods}/{quote(request.name, safe='')}"
        match request:
            case told.PatchStatus():
                pod = await api.patch(f"{path}/status", request.patch, STRATEGIC)
                deleting = bool(pod["metadata"].get("deletionTimestamp"))
                return heard.Patched(*name, request.uid, _version(pod), deleting, _status(pod))
            case told.DeletePod():
                await api.delete(path, uid=request.uid, grace_s=0)
                return heard.Deleted(*name, request.uid)
            case told.CreateMirror():
                pod = await api.create(pods, request.body)
                return heard.MirrorMade(*name, pod["metadata"]["uid"], _version(pod), _status(pod))

    def _note(self, request: told.Request, outcome: heard.Outcome) -> None:
        """Every refusal is logged; that nobody answers only once, until somebody does."""
        if not isinstance(outcome, heard.Failed):
            self._note_deed(request)
        elif outcome.status:
            words = {"pod": f"{request.namespace}/{request.name}", "status": outcome.status, "reason": outcome.reason}
            log = self.log.info if outcome.status == _CONFLICT else self.log.warning
            log(f"{type(request).__name__} refused", **words)
        elif not self._away:
            self._away = outcome.reason
            self.log.warning("API server away", reason=outcome.reason)

    def _note_deed(self, request: told.Request) -> None:
        if self._away:
            self._away = ""
            self.log.info("API server is back")
        if isinstance(request, told.DeletePod):
            self.log.info("pod deleted", pod=f"{request.namespace}/{request.name}", uid=request.uid, reason=request.why)


def _opened(settings: Settings, qps: float, burst: int) -> Api:
    """The client, whose libraries are loaded only where it is needed."""
    from podherd.kube.connect import connect

    return connect(settings, qps, burst)


def _version(pod: Body) -> str:
    return str(pod["metadata"].get("resourceVersion") or "")


def _status(pod: Body) -> bytes:
    return codec.pack(pod.get("status") or {})
