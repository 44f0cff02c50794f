"""A whole agent on real containerd; what it took is told at the end of the run, never asserted."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.kit.agent import Agent, own_agent
from tests.kit.containerd import own_containerd

from podherd.agent.provision import Containerd

FIGURES = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def runtime() -> Iterator[Containerd]:
    """A real containerd with the sample images."""
    with own_containerd("node") as containerd:
        yield containerd


@pytest_asyncio.fixture
async def agent(runtime: Containerd, tmp_path: Path) -> AsyncIterator[Agent]:
    """A running agent with no manifests yet."""
    async with own_agent(tmp_path, runtime.endpoint) as running:
        yield running


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Print a measured figure with the test run's summary."""
    return request.config.stash.setdefault(FIGURES, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """The figures, after the tests."""
    if lines := config.stash.get(FIGURES, []):
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.write_line(line)
