"""Rows, a shard that answers, and a server on a real unix socket."""

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.server import ServerActor
from podherd.model.keys import shard_of
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Answer, Ask, Drain, Drained
from podherd.wire.status import StatusChanged

SHARDS = 2


def changed(
    name: str = "web-n1", *, namespace: str = "default", uid: str = "", phase: str = "Running",
    deleting: bool = False, created_at: float = 1000.0, statuses: list[dict[str, Any]] | None = None,
) -> StatusChanged:  # fmt: skip
    """A status of a pod with one container `app` unless `statuses` says otherwise."""
    running = [{"name": "app", "restartCount": 0, "ready": True, "state": {"running": {}}}]
    status = {"phase": phase, "containerStatuses": running if statuses is None else statuses}
    return StatusChanged(uid or f"uid-{name}", namespace, name, phase, "file", deleting, created_at, codec.pack(status))


class FakeShard:
    """A pod shard that knows what it is told to know."""

    def __init__(self, name: str, bus: LocalBus) -> None:
        self.name = name
        self.bus = bus
        self.heard: list[Any] = []
        self.pods: dict[tuple[str, str], dict[str, Any]] = {}
        self.answers = True
        self.drains = True
        bus.join(name, self)

    async def deliver(self, frame: bytes) -> None:
        """Answer what can be answered."""
        for message in codec.decode(frame).messages:
            self.heard.append(message)
            if isinstance(message, Ask) and self.answers:
                await self.say(self.answer(message))
            if isinstance(message, Drain) and self.drains:
                await self.say(Drained(self.name))

    def answer(self, ask: Ask) -> Answer:
        """`{pod, status}`, or that there is none."""
        args = codec.unpack(ask.args)
        pod = self.pods.get((args["namespace"], args["name"]))
        if pod is None:
            return Answer(ask.id, b"", "no such pod")
        answer = {"pod": pod, "status": {"phase": "Running"}, "cause": "file /m/web.yaml created"}
        return Answer(ask.id, codec.pack(answer))

    async def say(self, *messages: Any) -> None:
        """Send to the server."""
        await self.bus.deliver("server", codec.encode(self.name, messages))


class FakeNode:
    """A node actor that lists images."""

    def __init__(self, bus: LocalBus) -> None:
        self.bus = bus
        bus.join("node", self)

    async def deliver(self, frame: bytes) -> None:
        """Answer `images`."""
        for message in codec.decode(frame).messages:
            if isinstance(message, Ask):
                items = [{"id": "sha256:abc", "repoTags": ["reg.test/a:1"], "repoDigests": [], "size": 12345678}]
                await self.say(Answer(message.id, codec.pack(items)))

    async def say(self, *messages: Any) -> None:
        """Send to the server."""
        await self.bus.deliver("server", codec.encode("node", messages))


class Stand:
    """A server actor, its shards, and a client of its socket."""

    def __init__(self, settings: Settings, client: aiohttp.ClientSession, clock: Callable[[], float]) -> None:
        self.settings = settings
        self.client = client
        self.bus = LocalBus(expected=[f"pod_shard-{n}" for n in range(SHARDS)])
        self.shards = [FakeShard(f"pod_shard-{n}", self.bus) for n in range(SHARDS)]
        self.node = FakeNode(self.bus)
        self.actor = ServerActor("server", settings, self.bus, clock)
        self.bus.join("server", self.actor)

    def owner(self, namespace: str, name: str) -> FakeShard:
        """The shard of a pod."""
        return self.shards[shard_of(namespace, name, SHARDS)]

    async def add(self, row: StatusChanged, containers: tuple[str, ...] = ("app",), **metadata: Any) -> None:
        """Let the owner know a pod and tell the server."""
        shard = self.owner(row.namespace, row.name)
        shard.pods[row.namespace, row.name] = {
            "metadata": {"name": row.name, "namespace": row.namespace, "uid": row.uid, **metadata},
            "spec": {"nodeName": "n1", "containers": [{"name": name} for name in containers]},
        }
        await shard.say(row)

    async def get(self, path: str, **query: str) -> tuple[int, Any]:
        """Status and JSON of a path."""
        async with self.client.get(f"http://podherd{path}", params=query) as response:
            return response.status, await response.json(content_type=None)

    async def text(self, path: str, **query: str) -> str:
        """The whole text of a path that answers 200."""
        async with self.client.get(f"http://podherd{path}", params=query) as response:
            assert response.status == 200, await response.text()
            return await response.text()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        node_name="n1",
        root_dir=tmp_path / "root",
        runtime_endpoint="",
        pod_logs_dir=tmp_path / "logs",
        manifest_url="https://me:secret@host/pods?token=secret",
    )


@pytest.fixture
async def stand(settings: Settings) -> AsyncIterator[Stand]:
    connector = aiohttp.UnixConnector(str(settings.admin_socket))
    async with aiohttp.ClientSession(connector=connector) as client:
        stand = Stand(settings, client, time.time)
        await stand.actor.start()
        await until(settings.admin_socket.exists)
        yield stand
        await stand.actor.stop()
