"""Lives of single pods through the API, as the kubelet leads them (kubelet behaviour, sections 1.6, 2.6, 6 and 8.6)."""

import asyncio
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.cluster.leavings import leavings
from tests.kit.agent import looping
from tests.kit.audit import Audit
from tests.kit.cluster import ControlPlane, KubectlError
from tests.kit.cluster_node import ClusterNode, own_node
from tests.kit.namespace import Namespace
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX, Containerd
from podherd.model.status import TERMINAL

MOST_PODS = 4
RUNS = "trap 'exit 3' TERM; while :; do sleep 0.1; done"
STAYS = "trap '' TERM; while :; do sleep 0.1; done"
LONG_S = 45.0
Pod = dict[str, Any]


@pytest.fixture(scope="module")
def node(control_plane: ControlPlane, runtime: Containerd) -> Iterator[ClusterNode]:
    """One that takes few pods."""
    with own_node(control_plane, runtime, "lives-1", extra=f"maxPods: {MOST_PODS}\n") as running:
        yield running


class Scene:
    """Pods of one namespace that are bound to the node by their maker: no scheduler looks at what fits."""

    def __init__(self, namespace: Namespace, node: ClusterNode, audit: Audit) -> None:
        self.namespace, self.node, self.audit = namespace, node, audit

    def create(self, name: str, command: str = RUNS, *, container: Pod | None = None, **spec: Any) -> str:
        """Its uid."""
        main = {"name": "main", "image": BUSYBOX, "command": ["/bin/sh", "-c", command]} | (container or {})
        whole = {"nodeName": self.node.name, "terminationGracePeriodSeconds": 20, "containers": [main], **spec}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": whole}
        self.namespace.apply(json.dumps(pod))
        return str(self.get(name)["metadata"]["uid"])

    def get(self, name: str, namespace: str = "") -> Pod:
        """The pod; empty when there is none."""
        try:
            where = ("--namespace", namespace or self.namespace.name)
            return self.node.cluster.get("pod", name, *where)
        except KubectlError:
            return {}

    async def seen(self, name: str, done: Callable[[Pod], Any], namespace: str = "") -> Pod:
        """The pod once it is as `done` wants it."""
        found: list[Pod] = []

        def look() -> Any:
            found.append(self.get(name, namespace))
            return found[-1] and done(found[-1])

        try:
            await until(look, LONG_S)
        except TimeoutError:
            pytest.fail(f"{name} is {json.dumps(found[-1], indent=1)}")
        return found[-1]

    async def running(self, name: str) -> Pod:
        return await self.seen(name, lambda pod: "running" in state(pod))

    async def gone(self, *names: str) -> None:
        """Once no object has these names."""
        await until(lambda: not any(self.get(name) for name in names), LONG_S)

    def delete(self, *names: str, force: bool = False) -> None:
        how = ("--force", "--grace-period=0") if force else ("--wait=false",)
        self.namespace.kubectl("delete", "pod", *names, *how)

    def versions(self, name: str) -> list[Pod]:
        """All that were seen up to now."""
        self.audit.end()
        return self.audit.of(name, self.namespace.name)

    async def clean(self) -> None:
        """Once nothing is left of any pod."""
        await until(lambda: not leavings(self.node, self.audit.uids()), LONG_S)


@pytest.fixture
def scene(namespace: Namespace, node: ClusterNode, audit: Audit) -> Scene:
    return Scene(namespace, node, audit)


def state(pod: Pod, kind: str = "containerStatuses") -> Pod:
    """Of its first container."""
    found: Pod = next(iter(pod["status"].get(kind) or ()), {}).get("state") or {}
    return found


def condition(pod: Pod, kind: str) -> Pod:
    return next((each for each in pod["status"].get("conditions") or () if each["type"] == kind), {})


def phase(pod: Pod) -> str:
    return str(pod["status"].get("phase"))


def ends_badly(versions: list[Pod]) -> list[str]:
    """Versions that tell an end while a container runs."""
    return [
        pod["metadata"]["resourceVersion"] for pod in versions if phase(pod) in TERMINAL and "running" in state(pod)
    ]


async def test_a_deleted_pod_ends_in_its_grace_and_its_object_goes_last(scene: Scene) -> None:
    uid = scene.create("ends", volumes=[{"name": "scratch", "emptyDir": {}}])
    await scene.running("ends")
    scene.delete("ends")
    await scene.gone("ends")
    left = [each for each in leavings(scene.node, [uid]) if "cgroup" in each or "mount " in each]
    assert left == []
    versions = scene.versions("ends")
    assert phase(versions[-1]) == "Failed"
    assert state(versions[-1])["terminated"]["exitCode"] == 3
    assert versions[-1]["metadata"]["deletionGracePeriodSeconds"] == 0
    assert ends_badly(versions) == []
    await scene.clean()
    assert scene.audit.problems() == []


async def test_a_pod_that_is_forced_away_is_killed_all_the_same(scene: Scene) -> None:
    scene.create("stubborn", STAYS, terminationGracePeriodSeconds=2)
    await scene.running("stubborn")
    scene.delete("stubborn", force=True)
    assert scene.get("stubborn") == {}
    await scene.clean()


@asynccontextmanager
async def silent_registry() -> Any:
    """A port of loopback that takes connections and never answers."""
    held: list[asyncio.StreamWriter] = []

    async def hold(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], held
    finally:
        server.close()
        for writer in held:
            writer.close()


async def test_a_pod_that_is_deleted_while_its_image_is_pulled_goes_at_once(scene: Scene) -> None:
    async with silent_registry() as (port, held):
        scene.create("pulls", container={"image": f"127.0.0.1:{port}/a:1"})
        await until(lambda: held, LONG_S)
        scene.delete("pulls")
        await scene.gone("pulls")
    assert phase(scene.versions("pulls")[-1]) == "Failed"
    await scene.clean()


async def test_a_debug_container_joins_a_pod_that_runs(scene: Scene) -> None:
    scene.create("debugged")
    first = await scene.running("debugged")
    words = ("--image", BUSYBOX, "--image-pull-policy=IfNotPresent", "--container=look", "--target=main", "--quiet")
    scene.namespace.kubectl("debug", "debugged", *words, "--", "/bin/sh", "-c", "cat /proc/*/cmdline")
    pod = await scene.seen("debugged", lambda it: "terminated" in state(it, "ephemeralContainerStatuses"))
    log = scene.node.root / "logs" / "pods"
    (file,) = log.glob(f"*_debugged_{pod['metadata']['uid']}/look/0.log")
    assert RUNS[:20] in file.read_text()
    assert state(pod)["running"] == state(first)["running"]
    await scene.seen("debugged", lambda it: it["status"]["observedGeneration"] == it["metadata"]["generation"] > 1)


async def test_a_pod_that_is_active_for_too_long_fails_once_it_is_stopped(scene: Scene) -> None:
    scene.create("late", activeDeadlineSeconds=3, restartPolicy="Never")
    await scene.running("late")
    pod = await scene.seen("late", lambda it: phase(it) == "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert pod["status"]["message"] == "Pod was active on the node longer than the specified deadline"
    assert "terminated" in state(pod)
    assert ends_badly(scene.versions("late")) == []
    assert scene.audit.problems() == []


async def test_readiness_waits_for_gates_and_a_pod_behind_scheduling_gates_is_left_alone(scene: Scene) -> None:
    gate = "example.com/open"
    scene.create("gated", readinessGates=[{"conditionType": gate}])
    scene.create("held", schedulingGates=[{"name": "example.com/wait"}], nodeName=None)
    pod = await scene.seen("gated", lambda it: condition(it, "ContainersReady").get("status") == "True")
    why = f'corresponding condition of pod readiness gate "{gate}" does not exist.'
    ready = condition(pod, "Ready")
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "ReadinessGatesNotReady", why)
    patch = {"status": {"conditions": [{"type": gate, "status": "True"}]}}
    scene.namespace.kubectl("patch", "pod", "gated", "--subresource=status", "--patch", json.dumps(patch))
    pod = await scene.seen("gated", lambda it: condition(it, "Ready")["status"] == "True")
    assert condition(pod, gate)["status"] == "True"
    assert {each.get("observedGeneration") for each in pod["status"]["conditions"] if each["type"] != gate} >= {1}
    assert scene.get("held")["status"].keys() <= {"phase", "conditions", "qosClass"}


async def test_what_does_not_fit_is_refused_and_a_critical_pod_makes_room(scene: Scene) -> None:
    port = {"ports": [{"containerPort": 80, "hostPort": 38080}]}
    scene.create("web-1", container=port)
    await scene.running("web-1")
    scene.create("web-2", container=port)
    pod = await scene.seen("web-2", lambda it: phase(it) == "Failed")
    why = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    assert (pod["status"]["reason"], pod["status"]["message"]) == ("NodePorts", f"Pod was rejected: {why}")
    assert "containerStatuses" not in pod["status"]
    for number in range(MOST_PODS - 1):
        scene.create(f"more-{number}", container={"resources": {"requests": {"memory": "8Mi"}}})
    for number in range(MOST_PODS - 1):
        await scene.running(f"more-{number}")
    scene.create("over")
    pod = await scene.seen("over", lambda it: phase(it) == "Failed")
    why = f"Node didn't have enough resource: pods, requested: 1, used: {MOST_PODS}, capacity: {MOST_PODS}"
    assert (pod["status"]["reason"], pod["status"]["message"]) == ("OutOfpods", f"Pod was rejected: {why}")
    scene.create("vital", priorityClassName="system-node-critical")
    await scene.running("vital")
    pod = await scene.seen("web-1", lambda it: phase(it) == "Failed")
    assert (pod["status"]["reason"], pod["status"]["message"]) == (
        "Preempting", "Preempted in order to admit critical pod",
    )  # fmt: skip
    assert condition(pod, "DisruptionTarget")["reason"] == "TerminationByKubelet"
    assert ends_badly(scene.versions("web-1")) == []
    assert scene.audit.problems() == []


async def test_a_static_pods_mirror_follows_its_manifest_whatever_is_done_to_it(scene: Scene) -> None:
    node, name = scene.node, f"stat-{scene.node.name}"
    node.put("stat", looping("stat", "one"))
    first = await scene.seen(name, lambda it: "running" in state(it), "default")
    started = state(first)["running"]
    node.cluster.kubectl("label", "pod", name, "edited=yes")
    node.cluster.kubectl("delete", "pod", name, "--force", "--grace-period=0")
    again = await scene.seen(name, lambda it: it["metadata"]["uid"] != first["metadata"]["uid"], "default")
    again = await scene.seen(name, lambda it: "running" in state(it), "default")
    assert state(again)["running"] == started
    node.put("stat", looping("stat", "two"))
    key = "kubernetes.io/config.hash"
    mark = again["metadata"]["annotations"][key]
    await scene.seen(name, lambda it: it["metadata"]["annotations"][key] != mark and "running" in state(it), "default")
    (node.manifests / "stat.yaml").unlink()
    await until(lambda: not scene.get(name, "default"), LONG_S)
    await scene.clean()


async def test_a_pod_that_went_while_nobody_listened_is_killed(scene: Scene) -> None:
    scene.create("orphan")
    scene.create("stays")
    await scene.running("orphan")
    started = state(await scene.running("stays"))["running"]
    scene.node.end(signal.SIGKILL)
    scene.delete("orphan", force=True)
    scene.node.start()
    scene.node.wait_ready()
    logs = scene.node.root / "logs" / "pods"
    await until(lambda: not list(logs.glob(f"{scene.namespace.name}_orphan_*")), LONG_S)
    assert state(scene.get("stays"))["running"] == started
    scene.delete("stays")
    await scene.gone("stays")
    await scene.clean()
    scene.audit.end()
    assert scene.audit.problems() == []
