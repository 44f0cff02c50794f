"""CSI volumes of a real cluster: a driver of the tests' own registers, and pods get and give back what it serves."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.cluster.leavings import leavings
from tests.kit.cluster_node import ClusterNode
from tests.kit.csi_driver import STAGE_UNSTAGE, CsiDriver, serving
from tests.kit.namespace import Namespace
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX

ATTACHED, PLAIN = "attached.csi.podherd.dev", "plain.csi.podherd.dev"
WAIT_S = 40.0
SLEEP = "trap 'exit 0' TERM; while :; do sleep 0.1; done"


@pytest.fixture
async def drivers(node: ClusterNode) -> AsyncIterator[dict[str, CsiDriver]]:
    """Two drivers that are registered on the node: the volumes of one are attached first."""
    registry = node.root / "agent" / "plugins_registry"
    with TemporaryDirectory(prefix="csi") as place:
        made = {name: CsiDriver(Path(place) / name[:5], STAGE_UNSTAGE, name=name) for name in (ATTACHED, PLAIN)}
        for name, driver in made.items():
            driver.node = {**driver.node, "accessible_topology": {"segments": {f"{name}/rack": "r1"}}}
        attached, plain = made.values()
        async with (
            serving(attached),
            serving(attached, f"{registry}/a.sock"),
            serving(plain),
            serving(plain, f"{registry}/p.sock"),
        ):
            await until(lambda: all(driver.told for driver in made.values()), WAIT_S)
            yield made


@pytest.fixture
def objects(namespace: Namespace) -> Iterator[None]:
    """Their CSIDriver objects."""
    token = {"audience": "vault", "expirationSeconds": 600}
    plain = {
        "attachRequired": False, "podInfoOnMount": True, "tokenRequests": [token], "fsGroupPolicy": "File",
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    }  # fmt: skip
    bodies = [csi_driver(ATTACHED, attachRequired=True), csi_driver(PLAIN, **plain)]
    namespace.cluster.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))
    yield
    namespace.cluster.kubectl("delete", "csidrivers", ATTACHED, PLAIN)


def csi_driver(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def claimed(namespace: Namespace, name: str, driver: str, claim: str) -> dict[str, Any]:
    """A PersistentVolume that waits for this claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Mi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "none",
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {"namespace": namespace.name, "name": claim},
            "csi": {"driver": driver, "volumeHandle": name, "fsType": "ext4", "volumeAttributes": {"tier": "gold"}},
        },
    }


CLAIM = {
    "accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Mi"}},
}  # fmt: skip


def pod(name: str, node: ClusterNode, *volumes: dict[str, Any]) -> dict[str, Any]:
    mounts = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
    writes = "".join(f"echo {name} > /{each['name']}/file; " for each in volumes)
    main = {"name": "main", "image": BUSYBOX, "command": ["/bin/sh", "-c", writes + SLEEP], "volumeMounts": mounts}
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": node.name},
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"fsGroup": 4321},
        "containers": [main],
        "volumes": list(volumes),
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def apply(namespace: Namespace, *bodies: dict[str, Any]) -> None:
    namespace.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(bodies)}))


def attach_all(namespace: Namespace) -> list[str]:
    """The part of an external-attacher: whatever is to be attached is. The names of those on which it was done."""
    done = []
    for each in namespace.cluster.get("volumeattachments")["items"]:
        if not (each.get("status") or {}).get("attached"):
            name = each["metadata"]["name"]
            change = {"status": {"attached": True, "attachmentMetadata": {"lun": "7"}}}
            patch = ("--type=merge", "--subresource=status", "-p", json.dumps(change))
            namespace.cluster.kubectl("patch", "volumeattachment", name, *patch)
            done.append(name)
    return done


@pytest.mark.usefixtures("objects")
async def test_pods_get_csi_volumes_attached_or_not_inline_and_generic_and_leave_nothing(
    namespace: Namespace, node: ClusterNode, drivers: dict[str, CsiDriver]
) -> None:
    attached, plain = drivers[ATTACHED], drivers[PLAIN]
    entries = namespace.cluster.get("csinode", node.name)["spec"]["drivers"]
    assert {each["name"]: each["nodeID"] for each in entries} == {ATTACHED: "node-7", PLAIN: "node-7"}
    assert namespace.cluster.get("node", node.name)["metadata"]["labels"][f"{PLAIN}/rack"] == "r1"

    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": CLAIM}
    one, generic = f"{namespace.name}-one", f"{namespace.name}-generic"
    namespace.cluster.apply(json.dumps(claimed(namespace, one, ATTACHED, "data")))
    namespace.cluster.apply(json.dumps(claimed(namespace, generic, PLAIN, "plain-scratch")))
    volumes = (
        {"name": "inline", "csi": {"driver": PLAIN, "volumeAttributes": {"size": "small"}}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM}}},
    )
    data = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    apply(namespace, claim, pod("attaching", node, data), pod("plain", node, *volumes))
    await until(lambda: attach_all(namespace), WAIT_S)
    assert attached.methods().count("NodeStageVolume") == 0
    for name in ("attaching", "plain"):
        await asyncio.to_thread(namespace.kubectl, "wait", "--for=condition=Ready", f"pod/{name}", "--timeout=40s")
    uids = [each["metadata"]["uid"] for each in namespace.pods()]

    (stage,) = attached.asked("NodeStageVolume")
    assert (stage.volume_id, dict(stage.publish_context)) == (one, {"lun": "7"})
    assert (attached.data(one) / "file").read_text() == "attaching\n"
    name = f"kubernetes.io/csi/{ATTACHED}^{one}"
    assert namespace.cluster.get("node", node.name)["status"]["volumesInUse"] == [name]
    contexts = {request.volume_id: dict(request.volume_context) for request in plain.asked("NodePublishVolume")}
    (inline,) = (context for handle, context in contexts.items() if handle != generic)
    assert inline["csi.storage.k8s.io/pod.name"] == "plain"
    assert (inline["csi.storage.k8s.io/ephemeral"], inline["size"]) == ("true", "small")
    assert set(json.loads(inline["csi.storage.k8s.io/serviceAccount.tokens"])) == {"vault"}
    assert (plain.data(generic).stat().st_gid, plain.data(generic).stat().st_mode & 0o2060) == (4321, 0o2060)

    await asyncio.to_thread(namespace.kubectl, "delete", "pods", "--all")  # the drivers answer in this loop
    await until(lambda: not namespace.cluster.get("node", node.name)["status"].get("volumesInUse"), WAIT_S)
    await until(lambda: not namespace.cluster.get("volumeattachments")["items"], WAIT_S)
    assert attached.methods()[-2:] == ["NodeUnpublishVolume", "NodeUnstageVolume"]
    assert leavings(node, uids) == []
    globals_ = node.root / "agent" / "plugins" / "kubernetes.io" / "csi"
    assert [str(path) for path in globals_.rglob("*") if path.parent != globals_] == []
    namespace.cluster.kubectl("delete", "pv", one, generic, "--wait=false")
