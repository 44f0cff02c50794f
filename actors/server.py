"""The server actor: what pods, sources and node say becomes tables; the admin socket answers from them."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from aiohttp import web

from podherd.actors.shell import Shell
from podherd.model.keys import shard_of
from podherd.server import app
from podherd.server.facts import Facts
from podherd.server.log_page import LogPage
from podherd.server.node_pages import NodePages
from podherd.server.pod_pages import PodPages
from podherd.server.questions import Questions
from podherd.server.replies import BusyError, NotFoundError
from podherd.server.stream_page import StreamPage
from podherd.server.top_page import TopPage
from podherd.server.usage import Sample
from podherd.server.usage_sources import container_samples
from podherd.wire import codec
from podherd.wire.control import Answer, Drain, Drained, Hello
from podherd.wire.routes import NODE, POD_SHARD, SOURCES, role_of
from podherd.wire.status import PodForgotten, StatusChanged

if TYPE_CHECKING:
    from podherd.cri.client import Cri

DOUBT_S = 30.0
"""After a shard's restart, this long until pods that it has not spoken of are asked for."""
DOUBT_RETRY_S = 5.0
"""How often a shard that did not answer for them is asked again."""
BIND_RETRY_S = 1.0


class ServerActor(Shell):
    """Listens on `settings.admin_socket`; the handlers stand in `podherd.server`."""

    hello_to: ClassVar[tuple[str, ...]] = (POD_SHARD, SOURCES, NODE)

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        self._facts = Facts()
        self._questions = Questions(self.send)
        self._settling = False
        self._draining = False
        self._drained: set[str] = set()
        self._all_drained = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._cri: Cri | None = None

    async def start(self) -> None:
        """Say hello and begin to listen."""
        await super().start()
        self.spawn(self._listen(), "admin socket", vital=True)

    async def stop(self) -> None:
        """Close the socket, then end the tasks."""
        if self._runner:
            await self._runner.cleanup()
        await super().stop()
        if self._cri is not None:
            await self._cri.close()

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """Tables first; answers, drains and a hello are this actor's own."""
        for message in messages:
            match message:
                case Answer():
                    self._questions.answered(message)
                case Drained():
                    self._drained.add(message.actor)
                    self._note_drained()
                case Hello() if role_of(sender) == SOURCES:
                    self._sources_restarted()
                case Hello():
                    self._shard_restarted(sender)
                case _:
                    self._facts.apply(message)

    async def _listen(self) -> None:
        while self._runner is None:
            try:
                self._runner = await app.serve(self._application(), self.settings.admin_socket)
            except OSError as error:
                self.log.error("admin socket", path=str(self.settings.admin_socket), error=str(error))
                await asyncio.sleep(BIND_RETRY_S)

    def _application(self) -> web.Application:
        settings = self.settings
        return app.build(
            PodPages(self._facts, self._ask_pod, settings.node_name),
            LogPage(self._facts, self._ask_pod, settings.pod_log_dir, settings.node_name, self.clock),
            StreamPage(self._facts, self._ask_pod, self._runtime, settings.node_name),
            TopPage(self._container_samples, self.clock, settings.node_name),
            NodePages(self._facts, self._ask_node, self._drain, self.clock, settings),
        )

    def _runtime(self) -> "Cri":
        """The runtime's client, made when somebody first wants a command or figures: most servers never need one."""
        if self._cri is None:
            from podherd.cri.client import Cri

            settings = self.settings
            self._cri = Cri(settings.runtime_endpoint, settings.image_endpoint, settings.runtime_request_s)
        return self._cri

    async def _container_samples(self) -> list[Sample]:
        return await container_samples(self._runtime())

    async def _ask_pod(self, row: StatusChanged) -> dict[str, Any]:
        answer: dict[str, Any] = await self._questions.ask(
            self._owner(row), "pod", namespace=row.namespace, name=row.name
        )
        return answer

    async def _ask_node(self, what: str) -> Any:
        peers = self.bus.peers(NODE)
        if not peers:
            raise BusyError("node", "no node actor runs", "`podherd doctor` shows the actors")
        return await self._questions.ask(peers[0], what)

    def _owner(self, row: StatusChanged) -> str:
        shards = sorted(self.bus.peers(POD_SHARD))
        return f"{POD_SHARD}-{shard_of(row.namespace, row.name, len(shards))}"

    async def _drain(self) -> None:
        self._draining = True
        self._drained.clear()
        self._all_drained.clear()
        self.send_role(POD_SHARD, Drain())
        self._note_drained()
        await self._all_drained.wait()

    def _note_drained(self) -> None:
        if self._drained.issuperset(self.bus.peers(POD_SHARD)):
            self._all_drained.set()

    def _sources_restarted(self) -> None:
        """It knows no problem that was mended while it was dead, and tells anew those that are left."""
        for problem in list(self._facts.problems.values()):
            self._facts.apply(replace(problem, problem="", at=self.clock()))

    def _shard_restarted(self, shard: str) -> None:
        """Pods that ended while their shard was dead are never forgotten by message: ask for those it leaves out."""
        now = self.clock()
        self._facts.pods.doubt((row.uid for row in self._facts.pods.rows() if self._owner(row) == shard), now)
        self.wake_at(now + DOUBT_S, self._begin_settling)
        if self._draining:
            self.send(shard, Drain())

    def _begin_settling(self) -> None:
        if not self._settling:
            self._settling = True
            self.spawn(self._settle_doubts(), "pods in doubt")

    async def _settle_doubts(self) -> None:
        """Ask for each pod until a shard has answered for it; one that restarted a moment ago has time to find them."""
        pods = self._facts.pods
        try:
            while pods.in_doubt:
                for row in pods.doubted(self.clock() - DOUBT_S):
                    await self._settle(row)
                if pods.in_doubt:
                    await asyncio.sleep(DOUBT_RETRY_S)
        finally:
            self._settling = False

    async def _settle(self, row: StatusChanged) -> None:
        try:
            pod = (await self._ask_pod(row)).get("pod") or {}
            known = pod.get("metadata", {}).get("uid", row.uid) == row.uid
        except NotFoundError:
            known = False
        except BusyError as error:
            self.log.warning("pod in doubt", pod=f"{row.namespace}/{row.name}", error=str(error))
            return
        if known:
            self._facts.pods.trust(row.uid)
        else:
            self._facts.apply(PodForgotten(row.uid, row.namespace, row.name))
