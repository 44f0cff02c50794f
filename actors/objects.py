"""The objects actor: follows the API objects that pods refer to, asks for their tokens, tells the shards."""

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

from podherd.actors.shell import Shell
from podherd.errors import ApiError, PodherdError
from podherd.kube.door import Api, Dropped, Listed, News, Put, Trouble
from podherd.kube.served import version_of
from podherd.machines.objects import events as heard
from podherd.machines.objects import instructions as told
from podherd.machines.objects.address import (
    BUNDLE_VERSIONS,
    BUNDLES,
    CERTIFICATES,
    list_path,
    object_path,
    query_of,
    token_path,
    token_request,
)
from podherd.machines.objects.machine import ObjectsMachine
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.objects import Needs, Ref
from podherd.wire.routes import POD_SHARD

SHARE = 0.4
"""Of the node's requests to the API server; the rest is for pods and their statuses."""
FAST_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Pauses after a refusal: the authorizer learns of a new pod a moment after we do. Then the follow's own back-off."""
RETRY_S = 5.0
"""Pause before a server that is away is asked again which versions it has."""
_FORBIDDEN = 403
_MISSING = 404
TOKEN = "ServiceAccountToken"
CERTIFICATE = "PodCertificate"
BUNDLE = "ClusterTrustBundle"


class ObjectsActor(Shell):
    """One follow per object, whoever needs it. Keeps no journal: what it hears are secrets."""

    hello_to: ClassVar[tuple[str, ...]] = (POD_SHARD,)

    def __init__(self, *args: Any, api: Api | None = None, **words: Any) -> None:
        super().__init__(*args, **words)
        self._machine = ObjectsMachine(self.settings.object_changes == "Watch")
        self._api = api
        self._works: dict[Ref, asyncio.Task[None]] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._bundle_version = ""
        """The one that the server has; empty until it has said so."""

    async def start(self) -> None:
        """Find the API server, which may be away, and ask the shards what they need."""
        settings = self.settings
        if self._api is None:
            qps, burst = settings.kube_api_qps * SHARE, max(1, round(settings.kube_api_burst * SHARE))
            self._api = _connected(settings, qps, burst)
        await super().start()

    async def stop(self) -> None:
        """Break everything off; shards keep what they were told."""
        if self._alarm is not None:
            self._alarm.cancel()
        await super().stop()
        if self._api is not None:
            await self._api.close()

    def receive(self, sender: str, messages: list[codec.Message]) -> None:
        """What pods need; a shard that has begun anew."""
        events: list[heard.Event] = []
        for message in messages:
            match message:
                case Needs():
                    events.append(heard.Needed(sender, message))
                case Hello(actor):
                    events.append(heard.ShardStarted(actor))
        self._turn(*events)

    def _turn(self, *events: heard.Event) -> None:
        for instruction in self._machine.handle(self.clock(), *events):
            match instruction:
                case told.Follow(ref):
                    self._begin(ref, self._follow(ref))
                case told.Fetch(ref):
                    self._begin(ref, self._fetch(ref))
                case told.Stop(ref):
                    if (work := self._works.pop(ref, None)) is not None:
                        work.cancel()
                case told.Tell(shard, state):
                    self.send(shard, state)
                case told.WakeAt(at):
                    self._wake_for(at)

    def _wake_for(self, at: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self.wake_at(at, lambda: self._turn(heard.Woke()))

    def _begin(self, ref: Ref, work: Any) -> None:
        task = self._works[ref] = self.spawn(work, f"{ref.kind} {ref.namespace}/{ref.name}", vital=True)
        task.add_done_callback(lambda done: self._over(ref, done))

    def _over(self, ref: Ref, task: asyncio.Task[None]) -> None:
        if self._works.get(ref) is task:
            del self._works[ref]

    async def _fetch(self, ref: Ref) -> None:
        self._turn(await self._asked(ref))

    async def _asked(self, ref: Ref) -> heard.Event:
        assert self._api is not None
        try:
            if ref.kind == TOKEN:
                made = await self._api.create(token_path(ref), token_request(ref))
                return heard.TokenGiven(ref, made["status"], _seconds(made["status"]["expirationTimestamp"]))
            if ref.kind == CERTIFICATE:
                return await self._certificate(self._api, ref)
            return heard.Learned(ref, await self._api.get(object_path(ref)))
        except ApiError as error:
            if error.status == _MISSING and ref.kind not in (TOKEN, CERTIFICATE):
                return heard.Learned(ref, None)
            return heard.Failed(ref, error.status, error.reason)
        except (PodherdError, KeyError, ValueError, TypeError) as error:
            return heard.Failed(ref, 0, str(error))

    async def _certificate(self, api: Api, ref: Ref) -> heard.Event:
        """Raises ApiError."""
        from podherd.kube.csr import RefusedError
        from podherd.kube.pod_certificate import issue

        try:
            wanted = json.loads(ref.detail)
            issued = await issue(api, ref.namespace, ref.name, wanted, self.settings.node_name)
        except RefusedError as error:
            return heard.Refused(ref, error.reason)
        body = {"key": issued.key, "chain": issued.chain}
        return heard.CertificateGiven(ref, body, issued.refresh_at, issued.expires_at)

    async def _follow(self, ref: Ref) -> None:
        """Follow it for ever; refusals at the beginning are tried again faster than the follow itself would."""
        ear, path = self._ear(ref), await self._path(ref)
        for pause_s in FAST_S:
            if not await self._refused(path, ref, ear):
                return
            await asyncio.sleep(pause_s)
        assert self._api is not None
        await self._api.follow(path, query_of(ref), ear)

    async def _path(self, ref: Ref) -> str:
        """The collection to follow, in the version that the server has; waits where it cannot be asked."""
        assert self._api is not None
        if ref.kind != BUNDLE:
            return list_path(ref)
        while not self._bundle_version:
            try:
                found = await version_of(self._api, CERTIFICATES, BUNDLES, BUNDLE_VERSIONS)
                self._bundle_version = found or BUNDLE_VERSIONS[0]
            except PodherdError as error:
                self._troubled(ref, 0, str(error))
                await asyncio.sleep(RETRY_S)
        return list_path(ref, self._bundle_version)

    async def _refused(self, path: str, ref: Ref, ear: Callable[[News], None]) -> bool:
        """Follow it until the server refuses; False when the follow has ended by itself."""
        assert self._api is not None
        refused: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def hear(news: News) -> None:
            if refused.done():
                return
            ear(news)
            if isinstance(news, Trouble) and news.status == _FORBIDDEN:
                refused.set_result(True)

        follow = asyncio.ensure_future(self._api.follow(path, query_of(ref), hear))
        try:
            await asyncio.wait((follow, refused), return_when=asyncio.FIRST_COMPLETED)
        finally:
            follow.cancel()
            await asyncio.gather(follow, return_exceptions=True)
        return refused.done()

    def _ear(self, ref: Ref) -> Callable[[News], None]:
        if ref == told.ALL_SERVICES:
            return lambda news: self.vitally(lambda: self._hear_services(ref, news))
        objects: dict[str, Any] = {}
        return lambda news: self.vitally(lambda: self._hear(ref, objects, news))

    def _hear_services(self, ref: Ref, news: News) -> None:
        match news:
            case Listed(items):
                self._turn(heard.ServicesListed(tuple(items)))
            case Put(body):
                self._turn(heard.ServicePut(body))
            case Dropped(body):
                self._turn(heard.ServiceDropped(body))
            case Trouble(reason, status) if reason:
                self._troubled(ref, status, reason)

    def _hear(self, ref: Ref, objects: dict[str, Any], news: News) -> None:
        """What is followed: one object, or the few that a selector leaves."""
        match news:
            case Trouble(reason, status):
                if reason:
                    self._troubled(ref, status, reason)
                return
            case Listed(items):
                objects.clear()
                objects.update({_name(item): item for item in items})
            case Put(body):
                objects[_name(body)] = body
            case Dropped(body):
                objects.pop(_name(body), None)
        whole = objects.get(ref.name) if ref.name else {"items": [objects[name] for name in sorted(objects)]}
        self._turn(heard.Learned(ref, whole))

    def _troubled(self, ref: Ref, status: int, reason: str) -> None:
        if status not in (0, _FORBIDDEN):
            self.log.warning("not followed", kind=ref.kind, object=f"{ref.namespace}/{ref.name}", why=reason)
        self._turn(heard.Failed(ref, status, reason))


def _connected(settings: Settings, qps: float, burst: int) -> Api:
    """The client, whose libraries are loaded only where it is needed."""
    from podherd.kube.connect import connect

    return connect(settings, qps, burst)


def _name(body: Any) -> str:
    return str((body.get("metadata") or {}).get("name"))


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()
