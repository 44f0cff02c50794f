"""The sources on the synchronous bus: readers of files and of a URL that may miss news, and the API server's pods."""

from typing import TYPE_CHECKING

from tests.flow.actors import Actor, with_api
from tests.flow.timeline import wait

from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import (
    Event,
    OriginBad,
    OriginGone,
    OriginRead,
    ServerStarted,
    ShardStarted,
    SourceListed,
    Started,
    StaticPod,
)
from podherd.machines.sources.instructions import Instruction, List, Warn
from podherd.model.keys import SOURCE_API, SOURCE_FILE, SOURCE_HTTP, shard_of
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.desired import Desired, Gone
from podherd.wire.routes import POD_SHARD, SERVER, role_of
from podherd.wire.status import PodOver

if TYPE_CHECKING:
    from tests.flow.world import Manifest

FILE_CHECK_S = 20.0
HTTP_CHECK_S = 20.0
VANISH_S = 0.2


class SourcesActor(Actor):
    """As `actors/sources` with `sources/file` and `sources/http`; API pods go beside the machine until it has them."""

    hello_to = (SERVER, POD_SHARD)

    def boot(self) -> None:
        self._machine = SourcesMachine(self.world.shards, (SOURCE_FILE, SOURCE_HTTP))
        self._known: dict[str, tuple[Manifest | None, int]] = {}
        self._http: object = None
        self._feed(Started())
        self.life.spawn(self._read_files())
        self.life.spawn(self._read_url())

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        for message in messages:
            if isinstance(message, PodOver):
                self.world.laws.tried.add("over")
            elif isinstance(message, Hello) and role_of(sender) == POD_SHARD:
                self._feed(ShardStarted(int(sender.rpartition("-")[2])))
            elif isinstance(message, Hello):
                self._feed(ServerStarted())

    def _feed(self, event: Event) -> None:
        for told in self._machine.handle(self.world.wall(), event):
            self._perform(told)

    def _perform(self, told: Instruction) -> None:
        if isinstance(told, Warn):
            self.send_role(SERVER, told.message)
            return
        message = told.message
        if isinstance(told, List):
            mine = [uid for uid, body in self.world.api.items() if self._home(body["metadata"]["name"]) == told.shard]
            for uid in mine:
                self.tell_api(uid)
            message = with_api(told.message, mine)
        self.send(f"{POD_SHARD}-{told.shard}", message)

    def _home(self, name: str) -> int:
        return shard_of("default", name, self.world.shards)

    # The API server's pods.

    def tell_api(self, uid: str) -> None:
        body = self.world.api[uid]
        name = body["metadata"]["name"]
        refused = self.world.refusals.get(uid, ("", ""))
        desired = Desired(uid, "default", name, SOURCE_API, codec.pack(body), "api", *refused)
        self.send(f"{POD_SHARD}-{self._home(name)}", desired)

    def drop_api(self, uid: str, name: str) -> None:
        self.send(f"{POD_SHARD}-{self._home(name)}", Gone(uid, "default", name, "api"))

    # Files.

    async def _read_files(self) -> None:
        while True:
            for path in sorted({*self.world.files, *self._known}):
                await wait(None, 0.01)
                self._look(path, periodic=True)
            self._feed(SourceListed(SOURCE_FILE))
            await wait(None, FILE_CHECK_S)

    def notice(self, path: str) -> None:
        """inotify names the file; a missing one is looked for once more."""
        if self.up:
            self.life.after(VANISH_S if path not in self.world.files else 0.0, lambda: self._look(path, periodic=False))

    def _look(self, path: str, periodic: bool) -> None:
        known = self._known.get(path)
        if path not in self.world.files:
            if known is not None:
                del self._known[path]
                self._feed(OriginGone(SOURCE_FILE, path))
            return
        manifest = self.world.files[path]
        bad_looks = known[1] if known else 0
        if manifest is None:
            self._known[path] = None, bad_looks + 1
            self._feed(OriginBad(SOURCE_FILE, path, "torn", keep=not (periodic and bad_looks > 0)))
        elif known is None or known[1] or known[0] != manifest:
            self._known[path] = manifest, 0
            self._feed(OriginRead(SOURCE_FILE, path, (self._pod(manifest, SOURCE_FILE, path),)))

    def _pod(self, manifest: "Manifest", source: str, origin: str) -> StaticPod:
        return manifest.pod(source, origin, self.world.wall())

    # The URL.

    async def _read_url(self) -> None:
        while True:
            await wait(None, self.world.url_delay_s)
            if not self.world.url_away:
                self._read_document(tuple(self.world.url))
            await wait(None, HTTP_CHECK_S)

    def _read_document(self, document: "tuple[Manifest, ...]") -> None:
        if document != self._http:
            self._http = document
            pods = tuple(self._pod(each, SOURCE_HTTP, "http://m") for each in document)
            self._feed(OriginRead(SOURCE_HTTP, "http://m", pods))
        self._feed(SourceListed(SOURCE_HTTP))
