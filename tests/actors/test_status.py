"""The status actor against an API server in memory, whose faults are ordered by pod; time is made up."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.kit.virtual_loop import run_virtually
from tests.kit.waiting import until
from tests.machines.status.api_model import ApiModel, Stored
from tests.machines.status.made import NODE, RUNNING, Status, container, facts, local, static, status

from podherd.actors.local_bus import LocalBus
from podherd.actors.status import ANSWER_S, StatusActor
from podherd.errors import ApiError, PodherdError
from podherd.journal.replay import Outcome, journals, replay
from podherd.journal.story.line import Kind
from podherd.journal.story.story import story
from podherd.kube.door import STRATEGIC, Body, News, Query
from podherd.model.settings import Settings
from podherd.wire import codec
from podherd.wire.control import Hello
from podherd.wire.desired import Roster

SUCCEEDED = status("Succeeded", container("terminated"))
PEERS = ("sources", "pod_shard-0", "pod_shard-1", "node")
HANG = "hang"
Fault = Exception | str


class FakeApi:
    """One client of the model. faults: by pod name, what its next requests meet; HANG never answers."""

    def __init__(self, model: ApiModel) -> None:
        self.model = model
        self.faults: dict[str, list[Fault]] = {}
        self.asked: list[tuple[float, str, str]] = []
        self.closed = False

    async def create(self, path: str, body: Body, query: Query | None = None) -> Status:
        assert (path, query) == ("/api/v1/namespaces/ns/pods", None)
        name = body["metadata"]["name"]
        await self._meet("POST", name)
        return told(name, self.model.create(name, dict(body)))

    async def patch(self, path: str, body: Body, kind: str = "") -> Status:
        assert kind == STRATEGIC
        name = path.removeprefix("/api/v1/namespaces/ns/pods/").removesuffix("/status")
        await self._meet("PATCH", name)
        return told(name, self.model.patch(name, body["metadata"], body["status"]))

    async def delete(self, path: str, uid: str = "", grace_s: int | None = None) -> None:
        assert grace_s == 0
        name = path.removeprefix("/api/v1/namespaces/ns/pods/")
        await self._meet("DELETE", name)
        self.model.delete(name, uid)

    async def get(self, path: str, query: Query | None = None) -> Status:
        raise AssertionError(f"nothing is read: {path} {query}")

    async def replace(self, path: str, body: Body) -> Status:
        raise AssertionError(f"nothing is replaced: {path} {body}")

    async def follow(self, path: str, query: Query, told: Callable[[News], None]) -> None:
        raise AssertionError(f"nothing is followed: {path} {query} {told}")

    async def close(self) -> None:
        self.closed = True

    async def _meet(self, verb: str, name: str) -> None:
        self.asked.append((asyncio.get_running_loop().time(), verb, name))
        fault = faults.pop(0) if (faults := self.faults.get(name)) else None
        if fault == HANG:
            await asyncio.Event().wait()
        elif isinstance(fault, Exception):
            raise fault


def told(name: str, stored: Stored) -> Status:
    metadata: Status = {"name": name, "namespace": "ns", "uid": stored.uid, "resourceVersion": str(stored.version)}
    if stored.deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata, "status": stored.status}


class Ear:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    async def deliver(self, frame: bytes) -> None:
        self.heard += codec.decode(frame).messages


class Scene:
    """One actor at a time on a bus of ears, the model with pods of these names, and all that was told of them."""

    def __init__(self, root: Path, *names: str) -> None:
        self.root = root
        self.model = ApiModel()
        self.uids = {name: self.model.create(name).uid for name in names}
        self.model.tell(100)
        self.api = FakeApi(self.model)
        self.ears = {name: Ear() for name in PEERS}
        self.said: dict[str, Any] = {}

    async def start(self, journal_mb: int = 0) -> StatusActor:
        """Started; everybody answers its Hello."""
        bus = LocalBus(PEERS)
        for name, ear in self.ears.items():
            bus.join(name, ear)
        settings = Settings(NODE, self.root, "unix:///none", journal_mb=journal_mb)
        clock = asyncio.get_running_loop().time
        self.actor = StatusActor("status", settings, bus, clock, api=self.api)
        await self.actor.start()
        await self.tell("sources", *self.model.whole())
        await self.tell("pod_shard-0", *self.said.values())
        return self.actor

    async def tell(self, sender: str, *messages: Any) -> None:
        """As a frame."""
        await self.actor.deliver(codec.encode(sender, messages))

    async def say(self, name: str, what: Status, **more: Any) -> None:
        """The shard tells of the pod."""
        self.said[name] = local(what, self.uids[name], name, **more)
        await self.tell("pod_shard-0", self.said[name])

    async def watch(self) -> None:
        """Sources tell what the API server has told them."""
        await self.tell("sources", *self.model.tell(100))

    def phase(self, name: str) -> str:
        return str(self.model.pods[name].status["phase"])

    def asked(self, name: str) -> list[str]:
        return [verb for _, verb, pod in self.api.asked if pod == name]


Play = Callable[[Scene], Coroutine[Any, Any, None]]


@pytest.fixture
def played(tmp_path: Path) -> Callable[..., Scene]:
    """Plays it in made-up time, with pods of these names and an actor that is stopped in the end."""

    def run(play: Play, *names: str, journal_mb: int = 0) -> Scene:
        async def whole() -> Scene:
            scene = Scene(tmp_path, *names)
            await scene.start(journal_mb)
            await play(scene)
            await scene.actor.stop()
            return scene

        return run_virtually(whole())

    return run


def test_it_asks_all_who_know_something_and_patches_once(played: Callable[..., Scene]) -> None:
    async def play(scene: Scene) -> None:
        await scene.say("a", RUNNING)
        await until(lambda: scene.phase("a") == "Running")
        await scene.watch()
        await asyncio.sleep(100)

    scene = played(play, "a")
    assert scene.asked("a") == ["PATCH"]
    assert all(ear.heard == [Hello("status")] for ear in scene.ears.values())
    assert scene.api.closed


def test_a_new_actor_asks_for_nothing_that_is_done_and_loses_nothing_that_is_not(played: Callable[..., Scene]) -> None:
    async def play(scene: Scene) -> None:
        scene.api.faults["b"] = [HANG]
        await scene.say("a", RUNNING)
        await scene.say("b", RUNNING)
        await until(lambda: scene.phase("a") == "Running")
        await scene.actor.stop()
        scene.model.tell(100)
        await scene.start()
        await until(lambda: scene.phase("b") == "Running")

    scene = played(play, "a", "b")
    assert (scene.asked("a"), scene.asked("b")) == (["PATCH"], ["PATCH", "PATCH"])


def test_a_request_that_hangs_delays_no_other_pod_and_is_given_up_in_the_end(played: Callable[..., Scene]) -> None:
    async def play(scene: Scene) -> None:
        scene.api.faults["a"] = [HANG]
        for name in ("a", "b"):
            await scene.say(name, RUNNING)
        await until(lambda: scene.phase("b") == "Running")
        assert asyncio.get_running_loop().time() < 1.0
        await until(lambda: scene.phase("a") == "Running", 60.0)

    scene = played(play, "a", "b")
    first, second = (at for at, _, name in scene.api.asked if name == "a")
    assert ANSWER_S < second - first < ANSWER_S + 5.0


def test_a_server_that_is_too_busy_is_left_alone_as_long_as_it_says(played: Callable[..., Scene]) -> None:
    async def play(scene: Scene) -> None:
        scene.api.faults["a"] = [ApiError("a", 429, "TooManyRequests", "busy", retry_after_s=20.0)]
        await scene.say("a", RUNNING)
        await until(lambda: scene.phase("a") == "Running")

    scene = played(play, "a")
    first, second = (at for at, _, _ in scene.api.asked)
    assert 20.0 <= second - first < 21.0


@pytest.mark.parametrize(
    "fault",
    [
        ApiError("a", 409, "Conflict", "the object has been modified"),
        ApiError("a", 500, "InternalError", "etcdserver: leader changed"),
        ApiError("a", 0, "", "connection refused"),
        PodherdError("kubeconfig", "no token"),
        ValueError("half a JSON line"),
    ],
)
def test_whatever_goes_wrong_is_tried_again(played: Callable[..., Scene], fault: Exception) -> None:
    async def play(scene: Scene) -> None:
        scene.api.faults["a"] = [fault, fault]
        await scene.say("a", RUNNING)
        await until(lambda: scene.phase("a") == "Running")

    with capture_logs() as logs:
        scene = played(play, "a")
    assert scene.asked("a") == ["PATCH"] * 3
    assert any(line["log_level"] != "debug" for line in logs)


def test_a_server_that_is_away_is_logged_once_and_found_again_for_all(played: Callable[..., Scene]) -> None:
    names = [f"p{number}" for number in range(5)]

    async def play(scene: Scene) -> None:
        for name in names:
            scene.api.faults[name] = [ApiError(name, 0, "", "connection refused") for _ in range(3)]
            await scene.say(name, RUNNING)
        await until(lambda: all(scene.phase(name) == "Running" for name in names))

    with capture_logs() as logs:
        played(play, *names)
    assert [line["event"] for line in logs] == ["API server away", "API server is back"]


def test_a_pod_that_is_gone_is_forgotten(played: Callable[..., Scene]) -> None:
    async def play(scene: Scene) -> None:
        scene.model.delete("a", scene.uids["a"])
        await scene.say("a", RUNNING)
        await asyncio.sleep(100)

    assert played(play, "a").asked("a") == ["PATCH"]


def test_a_deleted_pod_goes_once_all_of_it_is_over(played: Callable[..., Scene]) -> None:
    async def play(scene: Scene) -> None:
        scene.model.mark_deleting("a")
        await scene.watch()
        await scene.say("a", SUCCEEDED, deleting=True)
        await asyncio.sleep(100)
        assert scene.phase("a") == "Succeeded"
        await scene.say("a", SUCCEEDED, deleting=True, finished=True)
        await until(lambda: "a" not in scene.model.pods)

    assert played(play, "a").asked("a") == ["PATCH", "DELETE"]


def test_a_static_pod_gets_a_mirror_that_has_its_status_and_comes_back(played: Callable[..., Scene]) -> None:
    async def play(scene: Scene) -> None:
        scene.uids["web"] = "s1"
        await scene.say("web", RUNNING, source="file")
        await scene.tell("sources", static("s1", "web"), Roster(("s1",), True))
        await scene.tell("node", facts())
        await until(lambda: "web" in scene.model.pods and scene.phase("web") == "Running")
        scene.model.mark_deleting("web")
        await scene.watch()
        await until(lambda: len(scene.asked("web")) == 5 and scene.phase("web") == "Running")

    scene = played(play)
    assert scene.asked("web") == ["POST", "PATCH", "DELETE", "POST", "PATCH"]
    assert scene.model.pods["web"].mark == "s1"


def test_its_journal_can_be_replayed(played: Callable[..., Scene]) -> None:
    async def play(scene: Scene) -> None:
        scene.api.faults["a"] = [ApiError("a", 500, "InternalError", "no")]
        await scene.tell("node", facts())
        await scene.tell("sources", static("s1", "web"), Roster(("s1",), True))
        await scene.say("a", SUCCEEDED, finished=True, deleting=True)
        await until(lambda: scene.phase("a") == "Succeeded" and "web" in scene.model.pods)
        scene.model.mark_deleting("a")
        await scene.watch()
        await until(lambda: "a" not in scene.model.pods)

    scene = played(play, "a", journal_mb=8)
    outcome = Outcome("")
    (files,) = journals(scene.root / "journal")
    replay(files, outcome)
    assert outcome.differs is None
    assert outcome.notes == []
    assert outcome.turns > 6


def test_the_story_of_a_pod_tells_what_the_api_server_was_asked_and_what_it_refused(
    played: Callable[..., Scene],
) -> None:
    async def play(scene: Scene) -> None:
        scene.model.mark_deleting("a")
        await scene.watch()
        scene.api.faults["a"] = [ApiError("a", 403, "Forbidden", "not yours")]
        await scene.say("a", SUCCEEDED, deleting=True)
        await until(lambda: scene.phase("a") == "Succeeded")
        await scene.say("a", SUCCEEDED, deleting=True, finished=True)
        await until(lambda: "a" not in scene.model.pods)

    scene = played(play, "a", "b", journal_mb=8)
    key, lines, notes = story(scene.root, "a")
    assert (key, notes) == (("ns", "a"), [])
    assert [line.text for line in lines if line.kind == Kind.API] == [
        "patch: phase Succeeded", "refused: 403 not yours", "patch: phase Succeeded", "delete: all of it is over",
    ]  # fmt: skip
