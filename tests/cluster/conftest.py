"""podherd as a node of a real cluster, on real containerd; its fixtures: tests/kit/cluster_fixtures.py."""

from collections.abc import Iterator
from itertools import count

import pytest
from tests.kit.audit import Audit, audited
from tests.kit.cluster import ControlPlane
from tests.kit.cluster_node import ClusterNode, own_node
from tests.kit.containerd import own_containerd
from tests.kit.namespace import Namespace, own_namespace

from podherd.agent.provision import Containerd

NUMBERS = count(1)


@pytest.fixture(scope="session")
def runtime() -> Iterator[Containerd]:
    """A real containerd with the sample images."""
    with own_containerd("cluster") as containerd:
        yield containerd


@pytest.fixture(scope="module")
def node(control_plane: ControlPlane, runtime: Containerd) -> Iterator[ClusterNode]:
    """A Ready node of the shared control plane, one for all tests of a file."""
    with own_node(control_plane, runtime, f"node-{next(NUMBERS)}") as running:
        yield running


@pytest.fixture
def namespace(control_plane: ControlPlane, node: ClusterNode) -> Iterator[Namespace]:  # noqa: ARG001 it outlives this
    """A namespace of one test's own; whatever is in it goes with it, while the node can still end its pods."""
    with own_namespace(control_plane, f"test-{next(NUMBERS)}") as fresh:
        yield fresh


@pytest.fixture
def audit(control_plane: ControlPlane) -> Iterator[Audit]:
    """Every version of every pod while the test runs; `end()` before its `problems()` are asked."""
    with audited(control_plane) as running:
        yield running
