"""CSINode and Node as a node's drivers change them, against an API server of a few lines."""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from podherd.errors import ApiError
from podherd.kube.csi_node import NODE_IDS, PATH, CsiNode
from podherd.kube.door import Api, Body, News, Query

NODE = "/api/v1/nodes/n1"


class Store(Api):
    """Objects by path; a replace with another resourceVersion than the object's is a conflict."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {NODE: {"metadata": {"name": "n1", "uid": "nu", "labels": {"rack": "r1"}}}}
        self.before_replace: list[Callable[[], None]] = []
        self.writes: list[str] = []

    async def get(self, path: str, query: Query | None = None) -> dict[str, Any]:
        assert query is None
        if path not in self.objects:
            raise ApiError(path, 404, "NotFound", "not found")
        found: dict[str, Any] = deepcopy(self.objects[path])
        return found

    async def create(self, path: str, body: Body, query: Query | None = None) -> dict[str, Any]:
        assert query is None
        self.writes.append("create")
        made = deepcopy(dict(body))
        made["metadata"] |= {"uid": f"u{len(self.writes)}", "resourceVersion": "1"}
        self.objects[f"{path}/{body['metadata']['name']}"] = made
        return deepcopy(made)

    async def replace(self, path: str, body: Body) -> dict[str, Any]:
        for call in self.before_replace:
            call()
        self.before_replace.clear()
        self.writes.append("replace")
        version = self.objects[path]["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != version:
            raise ApiError(path, 409, "Conflict", "stale")
        made = deepcopy(dict(body))
        made["metadata"]["resourceVersion"] = f"{int(version) + 1}"
        self.objects[path] = made
        return made

    async def patch(self, path: str, body: Body, kind: str = "") -> dict[str, Any]:
        assert (path, kind) == (f"{NODE}/status", "application/strategic-merge-patch+json")
        assert body["metadata"]["uid"] == "nu"
        self.writes.append("patch")
        metadata = self.objects[NODE]["metadata"]
        for field in ("labels", "annotations"):
            changed = {**metadata.get(field, {}), **body["metadata"].get(field, {})}
            metadata[field] = {key: value for key, value in changed.items() if value is not None}
        return {}

    async def delete(self, path: str, uid: str = "", grace_s: int | None = None) -> None:
        assert grace_s is None
        assert self.objects[path]["metadata"]["uid"] == uid
        self.writes.append("delete")
        del self.objects[path]

    async def follow(self, path: str, query: Query, told: Callable[[News], None]) -> None:  # noqa: ARG002
        raise AssertionError("is not asked for")

    async def close(self) -> None:
        raise AssertionError("is not asked for")

    @property
    def csi_node(self) -> Any:
        return self.objects[f"{PATH}/n1"]

    @property
    def drivers(self) -> list[dict[str, Any]]:
        drivers: list[dict[str, Any]] = self.csi_node["spec"]["drivers"]
        return drivers


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def entry(store: Store) -> CsiNode:
    return CsiNode(store, "n1")


async def test_a_node_without_drivers_has_an_entry_that_is_its_own(store: Store, entry: CsiNode) -> None:
    await entry.ensure()
    await entry.ensure()
    assert store.writes == ["create"]
    assert store.csi_node["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "nu"}
    ]


async def test_a_driver_is_entered_and_the_node_labelled(store: Store, entry: CsiNode) -> None:
    await entry.install("d", "node-7", 9, {"rack": "r1", "zone": "z"})
    assert store.drivers == [
        {"name": "d", "nodeID": "node-7", "topologyKeys": ["rack", "zone"], "allocatable": {"count": 9}}
    ]
    metadata = store.objects[NODE]["metadata"]
    assert metadata["labels"] == {"rack": "r1", "zone": "z"}
    assert json.loads(metadata["annotations"][NODE_IDS]) == {"d": "node-7"}


async def test_what_is_entered_already_is_not_written_again(store: Store, entry: CsiNode) -> None:
    await entry.install("d", "node-7", 0, {"zone": "z"})
    writes = len(store.writes)
    await entry.install("d", "node-7", 0, {"zone": "z"})
    assert len(store.writes) == writes
    assert "allocatable" not in store.drivers[0]


async def test_a_driver_that_goes_leaves_the_others_and_the_labels(store: Store, entry: CsiNode) -> None:
    await entry.install("a", "1", 0, {})
    await entry.install("b", "2", 0, {"zone": "z"})
    await entry.uninstall("b")
    assert [each["name"] for each in store.drivers] == ["a"]
    metadata = store.objects[NODE]["metadata"]
    assert json.loads(metadata["annotations"][NODE_IDS]) == {"a": "1"}
    assert metadata["labels"]["zone"] == "z"
    await entry.uninstall("a")
    assert NODE_IDS not in metadata["annotations"]


async def test_an_entry_of_an_earlier_node_of_the_name_is_replaced(store: Store, entry: CsiNode) -> None:
    await entry.install("old", "1", 0, {})
    store.csi_node["metadata"]["ownerReferences"][0]["uid"] = "earlier"
    await entry.install("d", "2", 0, {})
    assert [each["name"] for each in store.drivers] == ["d"]


async def test_what_another_writer_entered_meanwhile_is_kept(store: Store, entry: CsiNode) -> None:
    await entry.ensure()

    def intrude() -> None:
        store.drivers.append({"name": "other", "nodeID": "x", "topologyKeys": []})
        store.csi_node["metadata"]["resourceVersion"] = "5"

    store.before_replace = [intrude]
    await entry.install("d", "2", 0, {})
    assert {each["name"] for each in store.drivers} == {"d", "other"}


async def test_a_topology_that_contradicts_the_nodes_label_is_refused(store: Store, entry: CsiNode) -> None:
    with pytest.raises(ApiError, match=r'driver reported "rack":"r2" but existing label is "rack":"r1"'):
        await entry.install("d", "node-7", 0, {"rack": "r2"})
    assert store.writes == []
