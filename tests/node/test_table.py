"""The table of manifests, all at once on one agent: every pod reaches the end state that its entry says."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.kit.agent import Agent, running
from tests.kit.hollow import own_hollow
from tests.kit.table import Entry, Found, differences, entries, manifest
from tests.kit.waiting import until

from podherd.agent.provision import Containerd

SETTLE_S = 240.0
LOOK_S = 1.0
EXTRA = 'clusterDomain: cluster.local\nclusterDNS: ["10.96.0.10"]\n'
Results = dict[str, list[str]]


class Watched:
    """The pods of a table on a running agent; a pod that is as it should be is not looked at again."""

    def __init__(self, agent: Agent, table: list[Entry]) -> None:
        self._agent = agent
        self.left = {entry["name"]: entry for entry in table}
        self.results: Results = {}

    def begin(self) -> None:
        """Write every manifest."""
        for name, entry in self.left.items():
            self._agent.put(name, manifest(entry, self._agent.root))

    async def settled(self) -> bool:
        """Look once at every pod that is not right yet."""
        for name, entry in list(self.left.items()):
            found = Found(self._agent.get(f"/v1/pods/default/{name}-test"), self._agent.root / "logs" / "pods")
            self.results[name] = list(differences(entry, found))
            if not self.results[name]:
                del self.left[name]
        await asyncio.sleep(LOOK_S if self.left else 0)
        return not self.left


async def run(root: Path, endpoint: str, table: list[Entry]) -> Results:
    """What is wrong with each pod of the table at the end; nothing where it came out right."""
    agent = Agent(root, endpoint, EXTRA)
    async with running(agent):
        watched = Watched(agent, table)
        watched.begin()
        with suppress(TimeoutError):  # what is wrong then is the result
            await until(watched.settled, SETTLE_S)
        for path in agent.manifests.iterdir():
            path.unlink()
        await until(lambda: agent.states() == {}, 120.0)
    return watched.results


@pytest.fixture(scope="module")
def real(runtime: Containerd, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The whole table on containerd."""
    return asyncio.run(run(tmp_path_factory.mktemp("table"), runtime.endpoint, entries()))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """What of it the hollow runtime can play."""
    with own_hollow() as hollow:
        yield asyncio.run(run(tmp_path_factory.mktemp("played"), hollow.endpoint, entries(hollow=True)))


@pytest.mark.timeout(500)
@pytest.mark.parametrize("name", [entry["name"] for entry in entries()])
def test_on_containerd(name: str, real: Results) -> None:
    assert real[name] == []


@pytest.mark.timeout(500)
@pytest.mark.parametrize("name", [entry["name"] for entry in entries(hollow=True)])
def test_on_hollow(name: str, played: Results) -> None:
    assert played[name] == []
