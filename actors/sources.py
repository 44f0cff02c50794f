"""The sources actor: readers feed the sources machine, what it says goes to the pod shards and the server."""

from collections.abc import Coroutine
from typing import Any, ClassVar

from podherd.actors.shell import Shell
from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import Event, ServerStarted, ShardStarted, Started
from podherd.machines.sources.instructions import Instruction, Warn
from podherd.model.keys import SOURCE_FILE, SOURCE_HTTP
from podherd.sources.file import FileSource
from podherd.sources.http import HttpSource
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.routes import POD_SHARD, SERVER, role_of


class SourcesActor(Shell):
    """Owns what should run here. It holds no state that the manifests do not: a restarted one reads them again."""

    hello_to: ClassVar[tuple[str, ...]] = (SERVER,)
    """Nothing is asked of it: it forgets what an earlier sources actor said was wrong, and hears it anew."""

    def __init__(self, *args: Any, **words: Any) -> None:
        super().__init__(*args, **words)
        configured = (SOURCE_FILE,) * bool(self.settings.manifests) + (SOURCE_HTTP,) * bool(self.settings.manifest_url)
        self._machine = SourcesMachine(self.settings.shards, configured)
        self._logged: dict[str, str] = {}

    async def start(self) -> None:
        """Begin to read every configured source."""
        self.keep_journal(self._machine)
        await super().start()
        self._feed(Started())
        for what, work in self._readers():
            self.spawn(work, what, vital=True)

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
        return found

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """A shard that starts gets all of its pods, a server that starts every problem."""
        for message in messages:
            match message:
                case Hello() if role_of(sender) == POD_SHARD:
                    self._feed(ShardStarted(int(sender.rpartition("-")[2])))
                case Hello():
                    self._feed(ServerStarted())

    def _feed(self, event: Event) -> None:
        now = self.clock()
        answer = self._machine.handle(now, event)
        self.journal.turn(now, (event,), b"", answer)
        for told in answer:
            self._perform(told)

    def _perform(self, told: Instruction) -> None:
        if isinstance(told, Warn):
            self._warn(told)
        else:
            self.send(f"{POD_SHARD}-{told.shard}", told.message)

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
