"""A whole agent in this process on a hollow runtime, whose journals the tests read."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.hollow import Hollow, own_hollow
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.roster import actor_names, shell_class
from podherd.actors.shell import Shell
from podherd.hollow.control import Control
from podherd.journal.story.line import Line
from podherd.journal.story.story import story
from podherd.journal.story.tale import NoStoryError
from podherd.model.settings import Settings

SERVER = "server"
MANIFEST = """apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: shop}}
spec:
  dnsPolicy: Default
  restartPolicy: {restart}
  terminationGracePeriodSeconds: 1
  containers: [{{name: main, image: "img:1", imagePullPolicy: IfNotPresent, args: [{args}]}}]
"""


class Sink:
    """In the server's place."""

    async def deliver(self, frame: bytes) -> None:
        """Nothing."""


class Agent:
    """Every actor but the server. `root` is its root directory, `manifests` what it watches."""

    def __init__(self, place: Path, hollow: Hollow) -> None:
        self.root = place / "root"
        self.manifests = place / "manifests"
        for path in (self.root, self.manifests):
            path.mkdir()
        self.settings = Settings(
            node_name="n1", root_dir=self.root, runtime_endpoint=hollow.endpoint, manifests=self.manifests, shards=1,
            pod_logs_dir=place / "logs", relist_s=0.05,
        )  # fmt: skip
        self._actors: dict[str, Shell] = {}
        self._bus = LocalBus(actor_names(1))
        self._bus.join(SERVER, Sink())

    async def start(self, *names: str) -> None:
        """Start these actors; none named: all."""
        for name in names or [each for each in actor_names(1) if each != SERVER]:
            actor = self._actors[name] = shell_class(name)(name, self.settings, self._bus)
            self._bus.join(name, actor)
            await actor.start()

    async def stop(self, *names: str) -> None:
        """Stop these actors; none named: all."""
        for name in names or list(self._actors):
            self._bus.leave(name)
            await self._actors.pop(name).stop()

    def write(self, name: str = "web", restart: str = "Always", args: str = "") -> None:
        """The manifest of a pod, whole at once."""
        new = self.manifests / f".{name}"
        new.write_text(MANIFEST.format(name=name, restart=restart, args=args))
        new.rename(self.manifests / f"{name}.yaml")

    def lines(self, word: str = "web") -> list[Line]:
        """The story so far; empty while there is none."""
        try:
            return story(self.root, word)[1]
        except NoStoryError:
            return []

    def texts(self, word: str = "web") -> list[str]:
        """Its lines as `kind text`."""
        return [f"{line.kind} {' '.join(line.text.split())}" for line in self.lines(word)]

    async def until(self, text: str, count: int = 1, word: str = "web") -> None:
        """Return once so many lines hold the text."""
        try:
            await until(lambda: sum(text in each for each in self.texts(word)) >= count, 20.0)
        except TimeoutError:
            raise AssertionError(f"{text!r} is not in\n" + "\n".join(self.texts(word))) from None


@pytest.fixture
def hollow() -> Iterator[Hollow]:
    with own_hollow("--image", "img:1") as runtime:
        yield runtime


@pytest.fixture
async def control(hollow: Hollow) -> AsyncIterator[Control]:
    async with Control(hollow.endpoint) as control:
        yield control


@pytest.fixture
async def agent(tmp_path: Path, hollow: Hollow) -> AsyncIterator[Agent]:
    agent = Agent(tmp_path, hollow)
    await agent.start()
    yield agent
    await agent.stop()


@pytest.fixture
def place() -> Callable[[list[str], str], Any]:
    """Where the first text that holds a word stands."""
    return lambda texts, word: next(index for index, text in enumerate(texts) if word in text)
