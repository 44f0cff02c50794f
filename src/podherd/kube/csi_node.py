"""What the API is told of a node's CSI drivers: its CSINode object, and the Node's id annotation and topology labels.

Rules of the kubelet's nodeinfomanager (kubelet behaviour, section 13.7).
"""

import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from podherd.errors import ApiError
from podherd.kube.door import STRATEGIC, Api

PATH = "/apis/storage.k8s.io/v1/csinodes"
NODE_IDS = "csi.volume.kubernetes.io/nodeid"
_MISSING = 404
_CONFLICT = 409
_TRIES = 5
_MOST = 2**31 - 1
Json = dict[str, Any]


class CsiNode:
    """The node's entry. Every method raises ApiError; all may be called again."""

    def __init__(self, api: Api, node: str) -> None:
        self._api = api
        self._node = node
        self._path = f"{PATH}/{quote(node, safe='')}"
        self._node_path = f"/api/v1/nodes/{quote(node, safe='')}"

    async def ensure(self) -> None:
        """Have a CSINode object that is this very Node's, with whatever drivers it names."""
        await self._own(await self._api.get(self._node_path))

    async def install(self, driver: str, node_id: str, max_volumes: int, topology: Mapping[str, str]) -> None:
        """The driver serves volumes here. max_volumes: 0 or less for no limit. topology: labels for the Node.

        A label that the Node has already with another value is an ApiError: two drivers do not agree where it is.
        """
        node = await self._api.get(self._node_path)
        await self._label(node, driver, node_id, topology)
        entry: Json = {"name": driver, "nodeID": node_id, "topologyKeys": sorted(topology)}
        if max_volumes > 0:
            entry["allocatable"] = {"count": min(max_volumes, _MOST)}
        await self._change(node, lambda drivers: [*_without(drivers, driver), entry])

    async def uninstall(self, driver: str) -> None:
        """The driver is gone from here; its topology labels stay."""
        node = await self._api.get(self._node_path)
        await self._change(node, lambda drivers: _without(drivers, driver))
        ids = _ids(node)
        if ids.pop(driver, None) is not None:
            await self._annotate(node, {NODE_IDS: json.dumps(ids) if ids else None}, {})

    async def _label(self, node: Json, driver: str, node_id: str, topology: Mapping[str, str]) -> None:
        labels = node["metadata"].get("labels") or {}
        for key, value in topology.items():
            if labels.get(key, value) != value:
                reason = f'detected topology value collision: driver reported "{key}":"{value}" but existing label is '
                raise ApiError(f"CSI driver {driver}", 0, "", f'{reason}"{key}":"{labels[key]}"')
        ids = _ids(node)
        if ids.get(driver) != node_id or any(key not in labels for key in topology):
            ids[driver] = node_id
            await self._annotate(node, {NODE_IDS: json.dumps(ids)}, topology)

    async def _annotate(self, node: Json, annotations: Mapping[str, str | None], labels: Mapping[str, str]) -> None:
        """By the status, which a node may always patch."""
        metadata: Json = {"uid": node["metadata"]["uid"], "annotations": dict(annotations)}
        if labels:
            metadata["labels"] = dict(labels)
        await self._api.patch(f"{self._node_path}/status", {"metadata": metadata}, STRATEGIC)

    async def _change(self, node: Json, change: Callable[[list[Json]], list[Json]]) -> None:
        """Replace the list of drivers; another writer's change meanwhile is read and kept."""
        for left in reversed(range(_TRIES)):
            found = await self._own(node)
            before = found["spec"].get("drivers") or []
            after = change(before)
            if sorted(map(_plain, after)) == sorted(map(_plain, before)):
                return
            try:
                await self._api.replace(self._path, {**found, "spec": {**found["spec"], "drivers": after}})
            except ApiError as error:
                if error.status != _CONFLICT or not left:
                    raise
            else:
                return

    async def _own(self, node: Json) -> Json:
        """The CSINode of this Node; one of an earlier Node of the name is replaced."""
        uid = node["metadata"]["uid"]
        try:
            found = await self._api.get(self._path)
        except ApiError as error:
            if error.status != _MISSING:
                raise
            return await self._made(uid)
        owners = found["metadata"].get("ownerReferences") or ()
        if any(owner["kind"] == "Node" and owner["uid"] == uid for owner in owners):
            return {"spec": {}, **found}
        await self._api.delete(self._path, found["metadata"]["uid"])
        return await self._made(uid)

    async def _made(self, uid: str) -> Json:
        owner = {"apiVersion": "v1", "kind": "Node", "name": self._node, "uid": uid}
        metadata = {"name": self._node, "ownerReferences": [owner]}
        body = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": []}}
        return {"spec": {}, **await self._api.create(PATH, body)}


def _ids(node: Json) -> dict[str, str]:
    """Driver to node id; what cannot be read is written anew."""
    try:
        ids = json.loads((node["metadata"].get("annotations") or {}).get(NODE_IDS) or "{}")
    except ValueError:
        return {}
    return ids if isinstance(ids, dict) else {}


def _without(drivers: list[Json], name: str) -> list[Json]:
    return [each for each in drivers if each["name"] != name]


def _plain(driver: Json) -> str:
    return json.dumps({**driver, "topologyKeys": sorted(driver.get("topologyKeys") or ())}, sort_keys=True)
