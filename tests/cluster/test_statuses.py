"""The status actor as a node's own user of a real API server: patches, mirror pods, deletions do what is meant."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.api import Api, Refused, pods_path
from tests.kit.cluster import ControlPlane
from tests.kit.waiting import until
from tests.machines.status.made import NODE, T0, T1, Status, condition, container, facts, status

from podherd.actors.local_bus import LocalBus
from podherd.actors.status import StatusActor
from podherd.errors import ApiError
from podherd.kube.door import MERGE, STRATEGIC, Body, News, Query
from podherd.machines.status.restarts import told_restarts
from podherd.model.keys import CONFIG_MIRROR
from podherd.model.settings import Settings
from podherd.sources.static import file_pods
from podherd.wire import codec
from podherd.wire.api import ApiPod, ApiRoster
from podherd.wire.desired import Desired, Roster
from podherd.wire.status import StatusChanged

PEERS = ("sources", "pod_shard-0", "node")
BARE = {"nodeName": NODE, "automountServiceAccountToken": False, "containers": [{"name": "a", "image": "i:1"}]}
SCHEDULED = condition("PodScheduled", "True")
GATE = condition("example.com/gate", "True")
FULL = container() | {
    "started": True, "imageID": "sha256:1", "containerID": "containerd://1", "user": {"linux": {"uid": 0, "gid": 0}},
    "resources": {"requests": {"cpu": "1000m"}}, "allocatedResources": {"cpu": "0.5"},
    "volumeMounts": [{"name": "v", "mountPath": "/v", "readOnly": True, "recursiveReadOnly": "Disabled"}],
}  # fmt: skip
RUNNING = status(
    "Running", FULL, hostIP="192.0.2.1", hostIPs=[{"ip": "192.0.2.1"}], observedGeneration=1,
    podIP="10.0.0.2", podIPs=[{"ip": "10.0.0.2"}, {"ip": "fd00::2"}],
    conditions=[condition("Ready", "True", lastProbeTime=None, observedGeneration=1), SCHEDULED],
)  # fmt: skip
MANIFEST = b"""
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  priorityClassName: system-node-critical
  containers: [{name: a, image: "i:1", resources: {requests: {cpu: 1500m}}}]
  volumes: [{name: v, hostPath: {path: /tmp}}]
"""


class Door:
    """The plain client of the tests as the actor's; keeps what was asked."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.asked: list[tuple[str, str, Any]] = []

    async def create(self, path: str, body: Body, query: Query | None = None) -> Status:
        assert query is None
        return self._ask("POST", path, body, "application/json")

    async def patch(self, path: str, body: Body, kind: str = STRATEGIC) -> Status:
        return self._ask("PATCH", path, body, kind)

    async def delete(self, path: str, uid: str = "", grace_s: int | None = None) -> None:
        self._ask("DELETE", path, {"gracePeriodSeconds": grace_s, "preconditions": {"uid": uid}}, "application/json")

    async def get(self, path: str, query: Query | None = None) -> Status:
        raise AssertionError(f"nothing is read: {path} {query}")

    async def replace(self, path: str, body: Body) -> Status:
        raise AssertionError(f"nothing is replaced: {path} {body}")

    async def follow(self, path: str, query: Query, told: Callable[[News], None]) -> None:
        raise AssertionError(f"nothing is followed: {path} {query} {told}")

    async def close(self) -> None:
        self._api.close()

    def _ask(self, verb: str, path: str, body: Any, kind: str) -> Status:
        self.asked.append((verb, path, body))
        try:
            answer: Status = self._api.request(verb, path, body, kind)
        except Refused as refused:
            raise ApiError(path, refused.code, "", refused.body.decode()) from refused
        return answer


class Deaf:
    """In the place of an actor."""

    async def deliver(self, frame: bytes) -> None:
        """Nothing."""


class Scene:
    """The actor, the node's client of it, an administrator's, and what the other actors would tell."""

    def __init__(self, actor: StatusActor, door: Door, admin: Api) -> None:
        self.actor, self.door, self.admin = actor, door, admin

    async def tell(self, sender: str, *messages: Any) -> None:
        await self.actor.deliver(codec.encode(sender, messages))

    async def watch(self, name: str) -> None:
        """Sources tell of the pod as it is now."""
        pod, metadata = self.pod(name), self.pod(name)["metadata"]
        mirror_of, deleting = (
            (metadata.get("annotations") or {}).get(CONFIG_MIRROR, ""),
            "deletionTimestamp" in metadata,
        )
        restarts, held = told_restarts(pod["spec"]), codec.pack(pod["status"])
        version = metadata["resourceVersion"]
        await self.tell(
            "sources", ApiPod(metadata["uid"], "default", name, version, deleting, mirror_of, held, restarts)
        )

    async def say(
        self, uid: str, name: str, what: Status, source: str = "api", *, finished: bool = False, stopped: bool = True
    ) -> None:
        """The pod's shard tells of it."""
        body = codec.pack(what)
        changed = StatusChanged(uid, "default", name, what["phase"], source, False, 0.0, body, (), finished, stopped)
        await self.tell("pod_shard-0", changed)

    def create(self, name: str) -> str:
        """A pod of the API on the node; its uid."""
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": BARE}
        return str(self.admin.request("POST", pods_path(), pod)["metadata"]["uid"])

    def pod(self, name: str) -> Status:
        found: Status = self.admin.request("GET", pods_path(name=name))
        return found

    def names(self) -> set[str]:
        """Of all pods."""
        return {pod["metadata"]["name"] for pod in self.admin.request("GET", pods_path())["items"]}

    def status(self, name: str) -> Status:
        found: Status = self.pod(name)["status"]
        return found

    def asked(self, verb: str) -> int:
        return sum(verb == each for each, _, _ in self.door.asked)


@pytest.fixture(scope="module")
def plane(control_planes: Any) -> Any:
    with control_planes("statuses", controllers=False) as running:
        with Api(running) as admin:
            admin.request("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        yield running


@pytest.fixture
async def scene(plane: ControlPlane, tmp_path: Path) -> AsyncIterator[Scene]:
    bus = LocalBus(PEERS)
    for name in PEERS:
        bus.join(name, Deaf())
    settings = Settings(NODE, tmp_path, "unix:///none", journal_mb=0)
    plane.node_kubeconfig(NODE)
    door = Door(Api(plane, f"system-node-{NODE}"))
    actor = StatusActor("status", settings, bus, api=door)
    await actor.start()
    with Api(plane) as admin:
        yield Scene(actor, door, admin)
    await actor.stop()


async def test_a_patch_replaces_what_is_the_nodes_and_keeps_what_is_anothers(scene: Scene) -> None:
    uid = scene.create("patched")
    before = {
        "reason": "Old", "message": "old", "conditions": [GATE, condition("PodResizePending", "True")],
        "podIP": "10.9.9.9", "podIPs": [{"ip": "10.9.9.9"}, {"ip": "fd00::9"}],
    }  # fmt: skip
    scene.admin.request("PATCH", pods_path(name="patched", sub="status"), {"status": before}, MERGE)
    await scene.watch("patched")
    await scene.say(uid, "patched", RUNNING)
    await until(lambda: scene.status("patched")["phase"] == "Running")
    after = scene.status("patched")
    assert after["podIPs"] == RUNNING["podIPs"]
    assert after["hostIPs"] == RUNNING["hostIPs"]
    assert {each["type"] for each in after["conditions"]} == {"example.com/gate", "Ready", "PodScheduled"}
    assert not after.keys() & {"reason", "message"}
    assert after["containerStatuses"][0]["resources"] == {"requests": {"cpu": "1"}}
    assert scene.actor._machine._timers == []


async def test_what_the_server_holds_after_a_patch_needs_no_other(scene: Scene) -> None:
    uid = scene.create("quiet")
    await scene.watch("quiet")
    await scene.say(uid, "quiet", RUNNING)
    await until(lambda: scene.status("quiet")["phase"] == "Running")
    later = RUNNING | {"conditions": [condition("Ready", "True", T1, observedGeneration=1), *RUNNING["conditions"][1:]]}
    await scene.watch("quiet")
    await scene.say(uid, "quiet", later | {"startTime": T1})
    unready = [condition("Ready", "False", T1, reason="ContainersNotReady"), condition("PodScheduled", "True", T0)]
    await scene.say(uid, "quiet", RUNNING | {"conditions": unready})
    await until(lambda: scene.asked("PATCH") == 2)
    _, _, patch = scene.door.asked[-1]
    assert patch["status"].keys() == {"conditions"}
    assert [each["status"] for each in scene.status("quiet")["conditions"] if each["type"] == "Ready"] == ["False"]


async def test_another_pod_of_the_name_is_left_alone(scene: Scene) -> None:
    uid = scene.create("other")
    await scene.watch("other")
    scene.admin.request("DELETE", pods_path(name="other"), {"gracePeriodSeconds": 0})
    scene.create("other")
    await scene.say(uid, "other", status("Pending", message="of the first"))
    await until(lambda: scene.actor._machine._lanes["default", "other"].held is None)
    assert "message" not in scene.status("other")
    assert scene.asked("PATCH") == 1


async def test_a_phase_meets_only_the_object_that_it_was_worked_out_for(scene: Scene) -> None:
    uid = scene.create("moved")
    await scene.watch("moved")
    scene.admin.request("PATCH", pods_path(name="moved"), {"metadata": {"labels": {"a": "b"}}}, MERGE)
    await scene.say(uid, "moved", RUNNING)
    await until(lambda: scene.asked("PATCH"))
    assert scene.status("moved")["phase"] == "Pending"
    await scene.watch("moved")
    await until(lambda: scene.status("moved")["phase"] == "Running")


async def test_a_deleted_pod_goes_when_all_of_it_is_over(scene: Scene) -> None:
    uid = scene.create("ends")
    scene.admin.request("DELETE", pods_path(name="ends"), {"gracePeriodSeconds": 30})
    await scene.watch("ends")
    ends = status("Succeeded", container("terminated") | {"imageID": "sha256:1"})
    await scene.say(uid, "ends", ends)
    await until(lambda: scene.status("ends")["phase"] == "Succeeded")
    await scene.say(uid, "ends", ends, finished=True)
    await until(lambda: "ends" not in scene.names())


async def test_a_static_pod_has_a_mirror_made_by_the_nodes_own_user(scene: Scene) -> None:
    node = scene.admin.request("GET", f"/api/v1/nodes/{NODE}")["metadata"]["uid"]
    (pod,) = file_pods(MANIFEST, "web.yaml", NODE, 0.0).pods
    await scene.tell(
        "sources", Desired(pod.uid, pod.namespace, pod.name, "file", pod.body, ""), Roster((pod.uid,), True)
    )
    await scene.tell("sources", ApiRoster(()))
    await scene.say(pod.uid, pod.name, RUNNING, "file")
    await scene.tell("node", facts(node))
    await until(lambda: pod.name in scene.names() and scene.status(pod.name)["phase"] == "Running")
    metadata = scene.pod(pod.name)["metadata"]
    assert metadata["annotations"][CONFIG_MIRROR] == pod.uid != metadata["uid"]
    assert metadata["ownerReferences"][0]["uid"] == node
    scene.admin.request("DELETE", pods_path(name=pod.name), {"gracePeriodSeconds": 30})
    await scene.watch(pod.name)
    await until(lambda: pod.name in scene.names() and scene.pod(pod.name)["metadata"]["uid"] != metadata["uid"])
    await until(lambda: scene.status(pod.name)["phase"] == "Running")
