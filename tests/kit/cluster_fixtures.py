"""The control plane as a fixture, for every room; tests/conftest.py takes these names in.

Tests that need one go last: what they need may be built while the others run, and it runs beside no other test. Where
neither the programs nor Go are, they are deselected, and the run's header says so.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.kit import binaries

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.kit.cluster import ControlPlane

    Starter = Callable[..., AbstractContextManager[ControlPlane]]

FIXTURES = frozenset({"control_planes", "control_plane", "own_control_plane"})
BUILD = pytest.StashKey[binaries.Build]()
FAILURE = pytest.StashKey[str]()


@pytest.fixture(scope="session")
def control_planes(request: pytest.FixtureRequest) -> "Starter":
    """Starts a control plane for a `with`: name, and controllers=False for none. Fails with the build's last words."""
    from tests.kit.cluster import control_plane

    if failure := request.config.stash.get(FAILURE, ""):
        pytest.fail(failure, pytrace=False)
    return control_plane


@pytest.fixture(scope="session")
def control_plane(control_planes: "Starter") -> "Iterator[ControlPlane]":
    """A control plane that all tests of the run share: leave nothing in it, and never stop it."""
    with control_planes("shared") as running:
        yield running


@pytest.fixture
def own_control_plane(control_planes: "Starter") -> "Iterator[ControlPlane]":
    """A control plane of one test's own, which it may stop and break."""
    with control_planes("own") as running:
        yield running


def needs_cluster(item: pytest.Item) -> bool:
    """Whether the test uses a control plane."""
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_report_header() -> str | None:
    """One line when there can be no control plane."""
    reason = binaries.reason_against()
    return f"no test that needs a Kubernetes control plane runs: {reason}" if reason else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The tests that need one go last, or away."""
    wanting = [item for item in items if needs_cluster(item)]
    if not wanting:
        return
    items[:] = [item for item in items if not needs_cluster(item)]
    if binaries.reason_against():
        config.hook.pytest_deselected(items=wanting)
        return
    items += wanting
    if binaries.missing() and not config.option.collectonly:
        config.stash[BUILD] = binaries.Build()
        config.stash[BUILD].begin()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Waits for the build ahead of the first test that needs it, outside of that test's time limit."""
    build = item.config.stash.get(BUILD, None)
    if build is not None and needs_cluster(item) and FAILURE not in item.config.stash:
        try:
            build.finish()
        except binaries.NoControlPlaneError as error:
            item.config.stash[FAILURE] = str(error)
    return (yield)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends a build that nobody waits for any more."""
    if (build := config.stash.get(BUILD, None)) is not None:
        build.stop()
