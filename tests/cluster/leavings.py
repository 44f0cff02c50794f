"""What pods that are gone have left in the runtime, under the node's root, in cgroups, in mounts: nothing, if right."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.kit.cluster_node import ClusterNode

from podherd.agent.provision.cleaning import MOUNTS, mounts_under
from podherd.cgroups.paths import KUBEPODS
from podherd.model.keys import POD_UID
from podherd.steps.cgroup import MOUNT, hierarchies

PLACES = ("agent/pods", "logs/pods", "logs/containers")
"""Directories under the node's root that have one entry for each pod or container."""


def leavings(node: ClusterNode, uids: Iterable[str]) -> list[str]:
    """Each thing that is still there. The node should hold no pod any more; uids: of those it had."""
    found = list(_in_runtime(node))
    found += _under_root(node.root)
    found += _cgroups(set(uids))
    found += (f"mount {point}" for point in mounts_under(node.root / "agent", MOUNTS.read_text()))
    return found


def leavings_of(node: ClusterNode, uids: Iterable[str]) -> list[str]:
    """Each thing that is still there of these pods, of a node that has others, too."""
    gone = sorted(uids)
    filters = [f'labels."{POD_UID}"=={uid}' for uid in gone]
    places = [*_under_root(node.root), *mounts_under(node.root / "agent", MOUNTS.read_text())]
    found = [place for place in places if any(uid in place for uid in gone)]
    if gone:
        found += node.runtime.ctr("containers", "ls", "-q", *filters).split()
    return found + list(_cgroups(set(gone)))


def _in_runtime(node: ClusterNode) -> Iterator[str]:
    """Sandboxes are containers to containerd, too."""
    yield from (f"container {name}" for name in node.runtime.ctr("containers", "ls", "-q").split())
    yield from (f"task {line.split()[0]}" for line in node.runtime.ctr("tasks", "ls").splitlines()[1:])


def _under_root(root: Path) -> Iterator[str]:
    for place in PLACES:
        if (directory := root / place).exists():
            yield from (str(entry) for entry in directory.iterdir())


def _cgroups(uids: set[str]) -> Iterator[str]:
    """The machine may have other nodes' pods, hence the uids; a slice's name has underscores for dashes."""
    names = {f"pod{uid}" for uid in uids} | {f"pod{uid.replace('-', '_')}.slice" for uid in uids}
    for hierarchy in hierarchies(MOUNT):
        for top in Path(hierarchy).glob(f"{KUBEPODS}*"):
            yield from (str(path) for path in top.rglob("*pod*") if any(path.name.endswith(name) for name in names))
