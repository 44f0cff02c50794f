"""The objects actor as a node of a real API server, whose Node authorizer lets it see what its pods refer to."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.kit.cluster import ControlPlane
from tests.kit.waiting import until

from podherd.actors.local_bus import LocalBus
from podherd.actors.objects import ObjectsActor
from podherd.machines.objects import references
from podherd.model.settings import Settings
from podherd.model.view import pod_of
from podherd.wire import codec
from podherd.wire.objects import Needs, ObjectState, Ref

NODE, SPACE = "objects-node", "objects-test"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": SPACE},
    "spec": {
        "nodeName": NODE,
        "containers": [{"name": "a", "image": "x:1", "envFrom": [{"configMapRef": {"name": "late"}}]}],
    },
}


class Shard:
    """Keeps the newest state of each Ref."""

    def __init__(self) -> None:
        self.known: dict[Ref, ObjectState] = {}

    async def deliver(self, frame: bytes) -> None:
        states = [each for each in codec.decode(frame).messages if isinstance(each, ObjectState)]
        self.known.update({each.of: each for each in states})

    def body(self, ref: Ref) -> Any:
        state = self.known.get(ref)
        return codec.unpack(state.body) if state and state.body else None


@pytest.fixture
def bound(control_plane: ControlPlane) -> Any:
    """A pod that was just bound to the node."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}
    control_plane.apply("\n---\n".join(map(json.dumps, (node, space))))
    control_plane.kubectl("wait", "--for=create", f"-n={SPACE}", "serviceaccount/default", "--timeout=60s")
    control_plane.apply(json.dumps(POD))
    yield pod_of(control_plane.get(f"-n={SPACE}", "pod", "web"))
    control_plane.kubectl("delete", f"-n={SPACE}", "pod", "web", "--grace-period=0", "--force")
    control_plane.kubectl("delete", "node", NODE)
    control_plane.kubectl("delete", "namespace", SPACE)


async def test_a_node_sees_what_its_pod_refers_to_as_soon_as_it_is_there(
    control_plane: ControlPlane, bound: Any, tmp_path: Path
) -> None:
    bus, shard = LocalBus(), Shard()
    bus.join("pod_shard-0", shard)
    kubeconfig = control_plane.node_kubeconfig(NODE)
    actor = ObjectsActor("objects", Settings(NODE, tmp_path, "unix:///none", kubeconfig=kubeconfig), bus)
    await actor.start()
    try:
        refs = references.references(bound)
        await actor.deliver(codec.encode("pod_shard-0", [Needs(bound.uid, refs)]))
        await until(lambda: set(shard.known) == set(refs))
        late = references.config_map(bound, "late")
        assert (shard.known[late].problem, shard.known[late].missing) == ('configmap "late" not found', True)
        (token,) = [ref for ref in refs if ref.kind == "ServiceAccountToken"]
        assert shard.body(token)["token"].count(".") == 2
        assert shard.body(references.config_map(bound, "kube-root-ca.crt"))["data"]["ca.crt"].startswith("-----BEGIN")
        assert [each["metadata"]["name"] for each in shard.body(Ref("Services", "default", ""))] == ["kubernetes"]
        for value in ("one", "two"):
            made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late", "namespace": SPACE}}
            control_plane.apply(json.dumps({**made, "data": {"k": value}}))
            began = time.monotonic()
            await until(lambda wanted=value: (shard.body(late) or {}).get("data") == {"k": wanted})
            assert time.monotonic() - began < 5
        control_plane.kubectl("delete", f"-n={SPACE}", "configmap", "late")
        await until(lambda: shard.known[late].missing)
    finally:
        await actor.stop()
