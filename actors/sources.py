"""The sources actor: readers feed the sources machine, what it says goes to shards, the server and the status actor."""

from collections.abc import Coroutine
from typing import Any, ClassVar

from podherd.actors.shell import Shell
from podherd.errors import ApiError
from podherd.kube.door import Api
from podherd.machines.admission import Admission
from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import (
    Event,
    NodeLooked,
    ServerStarted,
    ShardStarted,
    Started,
    StatusStarted,
)
from podherd.machines.sources.instructions import Instruction, LookAtNode, TellStatus, Warn
from podherd.model.keys import SOURCE_API, SOURCE_FILE, SOURCE_HTTP
from podherd.model.settings import Settings
from podherd.sources.apiserver import ApiSource
from podherd.sources.file import FileSource
from podherd.sources.http import HttpSource
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.node import NodeFacts
from podherd.wire.routes import NODE, POD_SHARD, SERVER, STATUS, role_of
from podherd.wire.status import PodOver

NO_LIMIT = 0.0
"""QPS of the watch of pods and of reading the node: few requests, and none may wait for others."""


class SourcesActor(Shell):
    """Owns what should run here. It holds no state that its sources do not: a restarted one reads them again."""

    hello_to: ClassVar[tuple[str, ...]] = (SERVER, NODE, POD_SHARD)
    """The node tells its facts, shards which pods are over. Nothing is asked of the server: it forgets what an earlier
    sources actor said was wrong, and hears it anew."""

    def __init__(self, *args: Any, api: Api | None = None, **words: Any) -> None:
        super().__init__(*args, **words)
        settings = self.settings
        given = {SOURCE_FILE: settings.manifests, SOURCE_HTTP: settings.manifest_url, SOURCE_API: settings.serves_api}
        configured = tuple(source for source, it in given.items() if it)
        self._machine = SourcesMachine(settings.shards, configured, Admission(may_look=settings.serves_api))
        self._api = api
        self._logged: dict[str, str] = {}

    async def start(self) -> None:
        """Begin to read every configured source."""
        self.keep_journal(self._machine)
        await super().start()
        self._feed(Started())
        for what, work in self._readers():
            self.spawn(work, what, vital=True)

    async def stop(self) -> None:
        """Leave the API server; what runs goes on running."""
        await super().stop()
        if self._api is not None:
            await self._api.close()

    def _readers(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        settings = self.settings
        found: list[tuple[str, Coroutine[Any, Any, None]]] = []
        if path := settings.manifests:
            file = FileSource(path, settings.node_name, settings.file_check_s, self._feed, self.clock)
            found.append((f"read {path}", file.run()))
        if url := settings.manifest_url:
            headers = dict(settings.manifest_url_headers)
            http = HttpSource(url, headers, settings.node_name, settings.http_check_s, self._feed, self.clock)
            found.append((f"read {http.shown_url}", http.run()))
        if settings.serves_api:
            self._api = self._api or _connected(settings)
            follow = ApiSource(self._api, settings.node_name, self._feed, self.clock)
            found.append(("follow the API server's pods", follow.run()))
        return found

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """A shard that starts gets all of its pods, a server every problem, a status actor what the API server has."""
        for message in messages:
            match message:
                case NodeFacts() | PodOver():
                    self._feed(message)
                case Hello() if role_of(sender) == POD_SHARD:
                    self._feed(ShardStarted(int(sender.rpartition("-")[2])))
                case Hello() if role_of(sender) == STATUS:
                    self._feed(StatusStarted())
                case Hello():
                    self._feed(ServerStarted())

    def _feed(self, event: Event) -> None:
        now = self.clock()
        answer = self._machine.handle(now, event)
        self.journal.turn(now, (event,), b"", answer)
        for told in answer:
            self._perform(told)

    def _perform(self, told: Instruction) -> None:
        match told:
            case Warn():
                self._warn(told)
            case TellStatus(message):
                self.send_role(STATUS, message)
            case LookAtNode():
                self.spawn(self._look_at_node(), "read the node", vital=True)
            case _:
                self.send(f"{POD_SHARD}-{told.shard}", told.message)

    async def _look_at_node(self) -> None:
        """Its labels now; a pod may have come before the news of the label that it was bound for."""
        labels: dict[str, str] | None = None
        try:
            if self._api is not None:
                node = await self._api.get(f"/api/v1/nodes/{self.settings.node_name}")
                labels = node["metadata"].get("labels") or {}
        except (ApiError, KeyError, AttributeError) as error:
            self.log.warning("node not read", reason=str(error))
        self._feed(NodeLooked(labels))

    def _warn(self, told: Warn) -> None:
        problem = told.message
        self.send_role(SERVER, problem)
        if self._logged.get(problem.thing, "") == problem.problem:
            return  # a server that starts hears everything again; the log has it already
        if problem.problem:
            self._logged[problem.thing] = problem.problem
            self.log.warning("manifest problem", thing=problem.thing, problem=problem.problem)
        else:
            del self._logged[problem.thing]
            self.log.info("manifest problem is over", thing=problem.thing)


def _connected(settings: Settings) -> Api:
    """A client of its own; loaded here, since an agent without an API server does not need it."""
    from podherd.kube.connect import connect

    return connect(settings, NO_LIMIT, 1)
