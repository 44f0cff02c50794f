"""The events actor against an API server of a few lines."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.kit.waiting import until

from podherd.actors.events import EventsActor
from podherd.actors.local_bus import LocalBus
from podherd.errors import ApiError
from podherd.kube.door import Api, Body, News, Query
from podherd.machines.events import machine
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.node import NodeFacts
from podherd.wire.status import NodeEvent, PodEvent

POD = PodEvent("u1", "d", "p", "spec.containers{web}", 100.0, "Normal", "Started", "Container started")


class Script(Api):
    """Keeps what it is asked; raises the errors given, one a request."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, Body]] = []
        self.errors: list[ApiError] = []
        self.closed = False

    async def get(self, path: str, query: Query | None = None) -> dict[str, Any]:  # noqa: ARG002
        raise AssertionError("is not asked for")

    async def create(self, path: str, body: Body, query: Query | None = None) -> dict[str, Any]:
        assert query is None
        return self._ask("POST", path, body)

    async def replace(self, path: str, body: Body) -> dict[str, Any]:  # noqa: ARG002
        raise AssertionError("is not asked for")

    async def patch(self, path: str, body: Body, kind: str = "") -> dict[str, Any]:
        return self._ask(f"PATCH {kind}", path, body)

    async def delete(self, path: str, uid: str = "", grace_s: int | None = None) -> None:  # noqa: ARG002
        raise AssertionError("is not asked for")

    async def follow(self, path: str, query: Query, told: Callable[[News], None]) -> None:  # noqa: ARG002
        raise AssertionError("is not asked for")

    async def close(self) -> None:
        self.closed = True

    def _ask(self, verb: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((verb, path, body))
        if self.errors:
            raise self.errors.pop(0)
        return dict(body)


class Ear:
    """Notes every message that an actor gets."""

    def __init__(self) -> None:
        self.heard: list[codec.Message] = []

    async def deliver(self, frame: bytes) -> None:
        self.heard.extend(codec.decode(frame).messages)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def node() -> Ear:
    return Ear()


@pytest.fixture
async def actor(script: Script, node: Ear, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EventsActor]:
    monkeypatch.setattr(machine, "RETRY_S", 0.01)
    bus = LocalBus()
    bus.join("node", node)
    told = EventsActor("events", Settings("n1", Path("/nowhere"), "unix:///none"), bus, api=script)
    await told.start()
    yield told
    await told.stop()
    assert script.closed


async def test_it_asks_the_node_actor_for_facts(actor: EventsActor, node: Ear) -> None:
    await until(lambda: node.heard == [Hello(actor.name)])


async def test_a_pod_event_is_created_in_the_pods_namespace_and_the_same_again_is_a_patch(
    actor: EventsActor, script: Script
) -> None:
    await actor.deliver(codec.encode("pod_shard-0", [POD]))
    await until(lambda: len(script.asked) == 1)
    verb, path, body = script.asked[0]
    assert (verb, path) == ("POST", "/api/v1/namespaces/d/events")
    assert body["involvedObject"]["fieldPath"] == "spec.containers{web}"
    await actor.deliver(codec.encode("pod_shard-0", [POD]))
    await until(lambda: len(script.asked) == 2)
    verb, path, changes = script.asked[1]
    assert verb == "PATCH application/strategic-merge-patch+json"
    assert path == f"/api/v1/namespaces/d/events/{body['metadata']['name']}"
    assert changes["count"] == 2


async def test_a_node_event_names_the_uid_that_the_node_actor_told(actor: EventsActor, script: Script) -> None:
    facts = NodeFacts("n1", "uid-n1", False, {}, {}, (), {}, {})
    await actor.deliver(codec.encode("node", [facts, NodeEvent(5.0, "Normal", "NodeReady", "is ready")]))
    await until(lambda: script.asked)
    assert script.asked[0][1] == "/api/v1/namespaces/default/events"
    assert script.asked[0][2]["involvedObject"]["uid"] == "uid-n1"


@pytest.mark.parametrize("status", [0, 401, 429, 500, 503])
async def test_a_server_that_cannot_answer_now_is_asked_again(actor: EventsActor, script: Script, status: int) -> None:
    script.errors = [ApiError("events", status, "", "not now")] * 3
    await actor.deliver(codec.encode("pod_shard-0", [POD]))
    await until(lambda: len(script.asked) == 4)
    assert len({body["metadata"]["name"] for _, _, body in script.asked}) == 1


@pytest.mark.parametrize(
    "error",
    [
        ApiError("events", 403, "Forbidden", "in namespace d because it is being terminated"),
        ApiError("events", 403, "Forbidden", "may not"),
        ApiError("events", 422, "Invalid", "bad"),
        ApiError("events", 404, "NotFound", "no such namespace"),
        ApiError("events", 409, "AlreadyExists", "is there"),
    ],
)
async def test_an_event_that_will_never_be_taken_is_dropped_and_the_next_one_told(
    actor: EventsActor, script: Script, error: ApiError
) -> None:
    script.errors = [error]
    other = PodEvent("u2", "e", "q", "", 100.0, "Normal", "Started", "x")
    await actor.deliver(codec.encode("pod_shard-0", [POD, other]))
    await until(lambda: len(script.asked) == 2)
    assert script.asked[1][1] == "/api/v1/namespaces/e/events"


async def test_who_tells_of_an_event_does_not_wait_for_a_server_that_hangs(
    actor: EventsActor, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = asyncio.Event()

    async def hang(*_args: Any) -> dict[str, Any]:
        await hanging.wait()
        return {}

    monkeypatch.setattr(script, "create", hang)
    async with asyncio.timeout(5):
        for number in range(3000):
            event = PodEvent(f"u{number}", "d", f"p{number}", "", 1.0, "Normal", "Started", "x")
            await actor.deliver(codec.encode("pod_shard-0", [event]))
