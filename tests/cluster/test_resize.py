"""In-place resize through the `resize` subresource, as kubectl does it (kubelet behaviour, sections 3.2 and 6.3)."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.kit.audit import Audit
from tests.kit.cluster_node import ClusterNode
from tests.kit.namespace import Namespace
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX
from podherd.steps.cgroup import MOUNT, hierarchies

MIB = 1 << 20
KNOBS = {
    "quota": ("cpu.cfs_quota_us", "cpu.max"),
    "memory": ("memory.limit_in_bytes", "memory.max"),
    "usage": ("memory.usage_in_bytes", "memory.current"),
}
"""Names of cgroup v1 and v2."""
SLEEP = "trap 'exit 0' TERM; sleep 86400 & wait"
HELD = 24_000_000
HOLD = f"held=$(head -c {HELD} /dev/zero | tr '\\0' x); while true; do sleep 1; done"
Pod = dict[str, Any]


def amounts(cpu: str, memory: str) -> Pod:
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"cpu": cpu, "memory": memory}}


def create(namespace: Namespace, name: str, cpu: str, memory: str, command: str = SLEEP, **container: Any) -> None:
    """A pod of one container."""
    main = {"name": "main", "image": BUSYBOX, "command": ["/bin/sh", "-c", command], "resources": amounts(cpu, memory)}
    pod = {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [main | container]},
    }  # fmt: skip
    namespace.apply(json.dumps(pod))


def resize(namespace: Namespace, name: str, cpu: str, memory: str) -> int:
    """The generation that the pod has by it."""
    patch = {"spec": {"containers": [{"name": "main", "resources": amounts(cpu, memory)}]}}
    namespace.kubectl("patch", "pod", name, "--subresource=resize", "--patch", json.dumps(patch))
    return int(namespace.get("pod", name)["metadata"]["generation"])


def main_of(pod: Pod) -> Pod:
    """The status of its container; empty while there is none."""
    return next(iter(pod["status"].get("containerStatuses") or ()), {})


def conditions(pod: Pod, *kinds: str) -> list[tuple[str, str, str]]:
    """Type, reason and message of those of these kinds that are True."""
    told = pod["status"].get("conditions") or ()
    found = [each for each in told if each["type"] in kinds and each["status"] == "True"]
    return [(each["type"], each.get("reason", ""), each.get("message", "")) for each in found]


def resizing(pod: Pod) -> list[tuple[str, str, str]]:
    return conditions(pod, "PodResizePending", "PodResizeInProgress")


def has(pod: Pod, cpu: str, memory: str) -> bool:
    """Whether its container was allocated and has these, and its resize is over."""
    main, wanted = main_of(pod), amounts(cpu, memory)
    given = main.get("allocatedResources") == wanted["requests"] and main.get("resources") == wanted
    return given and not resizing(pod) and pod["status"].get("observedGeneration") == pod["metadata"]["generation"]


def knob(pod: Pod, kind: str) -> str:
    """What the file in its container's cgroup says."""
    ident = main_of(pod)["containerID"].rpartition("://")[2]
    found = [
        path for hierarchy in hierarchies(MOUNT) for place in Path(hierarchy).rglob(f"*{ident}*")
        for name in KNOBS[kind] if (path := place / name).exists()
    ]  # fmt: skip
    return found[0].read_text().split()[0]


async def running(namespace: Namespace, name: str) -> Pod:
    """The pod, once its container runs."""
    return await seen(namespace, name, lambda pod: "running" in (main_of(pod).get("state") or {}))


async def seen(namespace: Namespace, name: str, done: Any) -> Pod:
    """The pod, once it is as `done` wants it."""
    found: Pod = {}

    def look() -> Any:
        found.update(namespace.get("pod", name))
        return done(found)

    try:
        await until(look)
    except TimeoutError:
        pytest.fail(f"{name} is {json.dumps(found['status'], indent=1)}")
    return found


async def test_a_pod_is_resized_where_it_runs(namespace: Namespace, audit: Audit) -> None:
    create(namespace, "web", "100m", "32Mi")
    first = await running(namespace, "web")
    assert (knob(first, "quota"), knob(first, "memory")) == ("10000", str(32 * MIB))
    resize(namespace, "web", "200m", "64Mi")
    pod = await seen(namespace, "web", lambda it: has(it, "200m", "64Mi"))
    assert (knob(pod, "quota"), knob(pod, "memory")) == ("20000", str(64 * MIB))
    resize(namespace, "web", "100m", "48Mi")
    pod = await seen(namespace, "web", lambda it: has(it, "100m", "48Mi"))
    assert (knob(pod, "quota"), knob(pod, "memory")) == ("10000", str(48 * MIB))
    assert main_of(pod)["containerID"] == main_of(first)["containerID"]
    audit.end()
    told = [each for version in audit.of("web", namespace.name) for each in conditions(version, "PodResizeInProgress")]
    assert told
    assert audit.problems() == []


async def test_memory_that_is_in_use_is_not_taken_away(namespace: Namespace) -> None:
    create(namespace, "holds", "500m", "96Mi", HOLD)
    pod = await running(namespace, "holds")
    await until(lambda: int(knob(pod, "usage")) > HELD)
    generation = resize(namespace, "holds", "500m", "8Mi")
    pod = await seen(namespace, "holds", lambda it: any(reason == "Error" for _, reason, _ in resizing(it)))
    ((kind, _, message),) = resizing(pod)
    assert kind == "PodResizeInProgress"
    assert f"memory limit ({8 * MIB}) below current usage (" in message
    (condition,) = (each for each in pod["status"]["conditions"] if each["type"] == kind)
    assert condition["observedGeneration"] == generation
    assert knob(pod, "memory") == str(96 * MIB)
    assert main_of(pod)["resources"]["limits"]["memory"] == "96Mi"
    resize(namespace, "holds", "500m", "96Mi")
    pod = await seen(namespace, "holds", lambda it: has(it, "500m", "96Mi"))
    assert main_of(pod)["restartCount"] == 0


async def test_a_container_whose_policy_says_so_is_started_anew(namespace: Namespace) -> None:
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    create(namespace, "anew", "100m", "32Mi", resizePolicy=policy)
    first = await running(namespace, "anew")
    resize(namespace, "anew", "100m", "64Mi")
    pod = await seen(namespace, "anew", lambda it: main_of(it)["restartCount"] == 1 and has(it, "100m", "64Mi"))
    assert main_of(pod)["containerID"] != main_of(first)["containerID"]
    await seen(namespace, "anew", lambda it: "running" in main_of(it)["state"])
    assert knob(pod, "memory") == str(64 * MIB)


async def test_what_the_node_has_not_now_is_deferred_until_it_has(namespace: Namespace, node: ClusterNode) -> None:
    whole = int(node.cluster.get("node", node.name)["status"]["allocatable"]["cpu"])
    create(namespace, "grows", "100m", "32Mi")
    create(namespace, "other", f"{whole * 1000 - 300}m", "32Mi")
    await running(namespace, "grows")
    await running(namespace, "other")
    generation = resize(namespace, "grows", "500m", "32Mi")
    pod = await seen(namespace, "grows", resizing)
    numbers = f"requested: 500, used: {whole * 1000 - 300}, capacity: {whole * 1000}"
    why = f"Node didn't have enough resource: cpu, {numbers}"
    assert resizing(pod) == [("PodResizePending", "Deferred", why)]
    (condition,) = (each for each in pod["status"]["conditions"] if each["type"] == "PodResizePending")
    assert condition["observedGeneration"] == generation
    assert main_of(pod)["allocatedResources"]["cpu"] == "100m"
    assert knob(pod, "quota") == "10000"
    namespace.kubectl("delete", "pod", "other", "--wait=false")
    pod = await seen(namespace, "grows", lambda it: has(it, "500m", "32Mi"))
    assert knob(pod, "quota") == "50000"


async def test_an_agent_that_is_killed_in_the_middle_of_resizes_loses_none(
    namespace: Namespace, node: ClusterNode, audit: Audit
) -> None:
    names = [f"p{number}" for number in range(4)]
    for name in names:
        create(namespace, name, "50m", "32Mi")
    first = {name: main_of(await running(namespace, name))["containerID"] for name in names}
    for name in names[:2]:
        resize(namespace, name, "100m", "48Mi")
    node.end(signal.SIGKILL)
    for name in names[2:]:
        resize(namespace, name, "100m", "48Mi")
    node.start()
    node.wait_ready()
    for name in names:
        pod = await seen(namespace, name, lambda it: has(it, "100m", "48Mi"))
        assert (knob(pod, "quota"), knob(pod, "memory")) == ("10000", str(48 * MIB))
        assert main_of(pod)["containerID"] == first[name]
    audit.end()
    assert audit.problems() == []
