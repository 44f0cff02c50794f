"""Actors on a local bus, with a hollow runtime where they need one."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.hollow import Hollow, own_hollow

from podherd.actors.local_bus import LocalBus
from podherd.actors.roster import actor_names
from podherd.hollow.control import Control
from podherd.model.settings import Settings
from podherd.wire import codec


class Ear:
    """Notes every message that an actor gets."""

    def __init__(self) -> None:
        self.heard: list[codec.Message] = []

    async def deliver(self, frame: bytes) -> None:
        self.heard.extend(codec.decode(frame).messages)

    def of(self, kind: type) -> list[Any]:
        """The messages of one kind."""
        return [message for message in self.heard if isinstance(message, kind)]


@pytest.fixture
def hollow() -> Iterator[Hollow]:
    with own_hollow("--image", "img:1") as runtime:
        yield runtime


@pytest.fixture
async def control(hollow: Hollow) -> AsyncIterator[Control]:
    async with Control(hollow.endpoint) as control:
        yield control


@pytest.fixture
def settings_at() -> Callable[[str], Settings]:
    return lambda endpoint: Settings(node_name="n1", root_dir=Path("/nowhere"), runtime_endpoint=endpoint)


@pytest.fixture
def herd() -> tuple[LocalBus, dict[str, Ear]]:
    """A bus on which every actor is an ear."""
    names = actor_names(2)
    bus, ears = LocalBus(names), {name: Ear() for name in names}
    for name, ear in ears.items():
        bus.join(name, ear)
    return bus, ears
