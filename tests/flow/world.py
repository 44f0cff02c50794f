"""A whole pretend node: actors, bus, runtime, manifests, and the accidents that befall them."""

from random import Random
from typing import Any, NamedTuple

from tests.flow.actors import Actor, NodeActor, ShardActor
from tests.flow.api_side import StatusActor
from tests.flow.bus import Bus
from tests.flow.laws import Laws
from tests.flow.observer import Observer
from tests.flow.pleg_actor import PlegActor
from tests.flow.runtime import Proc, Runtime
from tests.flow.script import NODE_NAME, static_pod
from tests.flow.sources_actor import SourcesActor
from tests.flow.story import line_of
from tests.flow.timeline import Timeline

from podherd.machines.pod.events import LeftBehind
from podherd.machines.pod.hear import Hear
from podherd.machines.sources.events import StaticPod
from podherd.model.identity import static_name
from podherd.model.keys import SOURCE_API, SOURCE_FILE, SOURCE_HTTP, shard_of
from podherd.model.pod import Pod
from podherd.wire.evict import Evict
from podherd.wire.routes import NODE, PLEG, POD_SHARD, SERVER, SOURCES, STATUS, role_of

T0 = 1_800_000_000.0
SHARDS = 2
BACKUP = ".bak"


class Manifest(NamedTuple):
    """What a file, or an item of the URL's document, holds. uid: its `metadata.uid`, empty for none."""

    name: str
    variant: int
    uid: str = ""

    def pod(self, source: str, origin: str, now: float) -> StaticPod:
        return static_pod(source, origin, self.name, self.variant, self.uid, now)


class World:
    """files, url, api: what is wanted by the truth; refusals: of the API's pods, by uid, why they may not run here.

    volumes: uids that hold some. draining: everything is to stop. tracing: keep a story.
    """

    def __init__(self, seed: int, tracing: bool = False) -> None:
        self.dice = Random(seed)
        self.timeline = Timeline()
        self.tracing = tracing
        self.trace: list[str] = []
        self.clock_off_s = 0.0
        self.laws = Laws(self)
        self.runtime = Runtime(self.timeline, self.wall, self.dice, self.laws)
        self.bus = Bus(self.timeline, self.dice)
        self.bus.tried = self.laws.tried
        self.shards = SHARDS
        self.relist_s = self.dice.choice((1.0, 4.0, 10.0))
        self.tells_left_behind = hasattr(Hear, "left_behind")
        self.files: dict[str, Manifest | None] = {}
        self.was: dict[str, Manifest] = {}
        self.url: list[Manifest] = []
        self.url_away, self.url_delay_s = False, 0.1
        self.api: dict[str, dict[str, Any]] = {}
        self.refusals: dict[str, tuple[str, str]] = {}
        self.volumes: set[str] = set()
        self.specs: dict[str, Pod] = {}
        self.names: dict[str, str] = {}
        self.doubts: dict[str, float] = {}
        self.dirs: set[str] = set()
        self.logs: dict[tuple[str, str], int] = {}
        self.draining = False
        self.rough_until = 0.0
        self.p_hint = 0.8
        self._make_actors()
        self.runtime.on_stopped = self._hint
        if tracing:
            self.runtime.told = lambda what, result: self.note("runtime", f"{what} {result}")

    def _make_actors(self) -> None:
        self.sources = SourcesActor(self, SOURCES)
        self.pleg = PlegActor(self, PLEG)
        self.shard_actors = [ShardActor(self, f"{POD_SHARD}-{number}") for number in range(self.shards)]
        self.observer = Observer(self, SERVER)
        self.status = StatusActor(self, STATUS)
        self.node = NodeActor(self, NODE)
        self.actors: dict[str, Actor] = {
            actor.name: actor
            for actor in (self.sources, self.pleg, *self.shard_actors, self.node, self.observer, self.status)
        }

    def begin(self) -> None:
        for actor in self.actors.values():
            self.timeline.after(self.dice.uniform(0.0, 1.0), actor.start)

    # What actors ask of it.

    def wall(self) -> float:
        """The clock that actors read: it may be set, forward and back."""
        return T0 + self.timeline.now + self.clock_off_s

    def peers(self, role: str) -> list[str]:
        return [name for name in self.actors if role_of(name) == role]

    def shard_of(self, name: str) -> ShardActor:
        return self.shard_actors[shard_of("default", name, self.shards)]

    def note(self, actor: str, what: object) -> None:
        if self.tracing:
            self.trace.append(f"{self.timeline.now:9.3f} {actor:12} {what if isinstance(what, str) else line_of(what)}")

    def counted(self, uid: str) -> None:
        self.runtime.changes += 1
        self.laws.counted(uid)

    def behind(self, uid: str) -> LeftBehind:
        return LeftBehind(uid, "default", self.names[uid])

    def make_files(self, pod: Pod) -> None:
        self.dirs.add(pod.uid)
        self.volumes.add(pod.uid)
        self.names[pod.uid] = pod.name

    def forget_files(self, uid: str) -> None:
        self.dirs.discard(uid)
        self.volumes.discard(uid)
        for key in [key for key in self.logs if key[0] == uid]:
            del self.logs[key]

    def drain_heard(self, uid: str) -> bool:
        return False if not self.draining else uid in self.laws.ended

    def _hint(self, uid: str, ident: str) -> None:
        if self.dice.random() < self.p_hint:
            self.timeline.after(self.dice.uniform(0.001, 0.5), lambda: self.pleg.hint(uid, ident))

    @property
    def is_rough(self) -> bool:
        """Calls fail or are slow, or did so a moment ago: a death may come late."""
        return self.timeline.now < self.rough_until

    def roughen(self, seconds: float) -> None:
        self.rough_until = max(self.rough_until, self.timeline.now + seconds + 60.0)

    # What is wanted.

    def truth(self) -> dict[str, StaticPod]:
        """The static pod that should run under each name."""
        now = self.wall()
        claims = sorted(self.files.items(), key=lambda claim: (claim[0].endswith(BACKUP), claim[0]))
        wanted: dict[str, StaticPod] = {}
        for path, manifest in claims:
            if manifest is not None and manifest.name not in wanted:
                wanted[manifest.name] = manifest.pod(SOURCE_FILE, path, now)
        for manifest in self.url:
            wanted.setdefault(manifest.name, manifest.pod(SOURCE_HTTP, "http://m", now))
        return wanted

    def doubt(self, name: str) -> None:
        """The wish for this pod changes: from now on it may be stopped."""
        self.doubts[static_name(name, NODE_NAME)] = self.doubts[name] = self.timeline.now

    def write(self, path: str, manifest: Manifest | None) -> None:
        """A file is written; None: it is torn."""
        if (old := self.files.get(path)) is not None:
            self.doubt(old.name)
        self.files[path] = manifest
        if manifest is not None:
            self.was[path] = manifest
        self._inotify(path)

    def delete(self, path: str) -> None:
        if path in self.files:
            del self.files[path]
            self.doubt(self.was[path].name)
            self._inotify(path)

    def _inotify(self, path: str) -> None:
        if self.dice.random() < 0.85:
            self.timeline.after(self.dice.uniform(0.01, 0.3), lambda: self.sources.notice(path))

    def set_url(self, document: list[Manifest]) -> None:
        for each in self.url:
            self.doubt(each.name)
        self.url = document

    def set_api(self, body: dict[str, Any]) -> None:
        metadata = body["metadata"]
        if metadata["uid"] in self.api:
            self.doubt(metadata["name"])
        self.api[metadata["uid"]] = body
        if self.sources.up:
            self.sources.tell_api(metadata["uid"])

    def set_api_status(self, uid: str, status: dict[str, Any]) -> None:
        """Written by the status actor; nothing that is wished for has changed."""
        self.api[uid] = {**self.api[uid], "status": status}
        if self.sources.up:
            self.sources.tell_api(uid)

    def refuse(self, uid: str, why: tuple[str, str]) -> None:
        """The node's admission finds that the pod has no room here, maybe only when it begins anew."""
        self.refusals[uid] = why
        self.doubt(self.api[uid]["metadata"]["name"])
        if self.sources.up:
            self.sources.tell_api(uid)

    def evict(self, uid: str, grace_s: int) -> None:
        name = self.names[uid]
        self.doubt(name)
        if self.node.up:
            order = Evict(uid, "default", name, "Evicted", "The node was low on resource: memory. ", grace_s, "low")
            self.node.send(self.shard_of(name).name, order)

    def drop_api(self, uid: str) -> None:
        name = self.api.pop(uid)["metadata"]["name"]
        self.doubt(name)
        if self.sources.up:
            self.sources.drop_api(uid, name)

    def api_pod(self, uid: str) -> Pod | None:
        pod = self.specs.get(uid)
        return pod if pod is not None and pod.source == SOURCE_API else None

    # Accidents.

    def any_proc(self, number: int, *states: str) -> Proc | None:
        procs = [proc for proc in self.runtime.procs.values() if proc.state in states]
        return procs[number % len(procs)] if procs else None

    def step_clock(self, seconds: float) -> None:
        self.clock_off_s += seconds
        self.laws.clock_stepped()
        self.roughen(30.0)

    def drain(self) -> None:
        self.draining = True
        if self.observer.up:
            self.observer.drain()
