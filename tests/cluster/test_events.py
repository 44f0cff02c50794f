"""What `kubectl get events` tells of usual lives, in the kubelet's words."""

import json
import re
from typing import Any

import pytest
from tests.cluster.test_objects_live import SOON_S, is_ready, pod, waiting
from tests.kit.cluster_node import ClusterNode
from tests.kit.namespace import Namespace
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX

pytestmark = pytest.mark.timeout(120)
FIELD = "spec.containers{c}"


def events(namespace: Namespace, name: str) -> list[dict[str, Any]]:
    """Those that the node told of one pod, in the order of their first times."""
    found = namespace.get("events", f"--field-selector=involvedObject.name={name},source=kubelet")["items"]
    return sorted(found, key=lambda one: (one["firstTimestamp"], one["metadata"]["name"]))


def told(namespace: Namespace, name: str) -> list[tuple[str, str, str]]:
    return [(one["type"], one["reason"], one["message"]) for one in events(namespace, name)]


async def test_a_pods_life_is_told_from_its_image_to_its_end(namespace: Namespace, node: ClusterNode) -> None:
    namespace.apply(pod("good", node, {}))
    is_ready(namespace, "good")
    namespace.kubectl("delete", "pod", "good", "--wait=false")
    await until(lambda: len(events(namespace, "good")) == 4, SOON_S)
    present = f'Container image "{BUSYBOX}" already present on machine and can be accessed by the pod'
    assert told(namespace, "good") == [
        ("Normal", "Pulled", present),
        ("Normal", "Created", "Container created"),
        ("Normal", "Started", "Container started"),
        ("Normal", "Killing", "Stopping container c"),
    ]
    first = events(namespace, "good")[0]
    about, source = first["involvedObject"], first["source"]
    assert (about["fieldPath"], about["apiVersion"], about["kind"]) == (FIELD, "v1", "Pod")
    assert (source, first["reportingComponent"]) == ({"component": "kubelet", "host": node.name}, "kubelet")


async def test_an_image_that_is_not_to_be_had_is_told_and_its_back_off_counted(
    namespace: Namespace, node: ClusterNode
) -> None:
    image = "127.0.0.1:1/no/such:1"
    namespace.apply(pod("lost", node, {"image": image}))
    await until(lambda: waiting(namespace, "lost").get("reason") == "ImagePullBackOff", SOON_S)
    await until(lambda: len(events(namespace, "lost")) >= 5, SOON_S)
    found = told(namespace, "lost")
    assert found[0] == ("Normal", "Pulling", f'Pulling image "{image}"')
    (failed,) = [message for kind, reason, message in found if message.startswith("Failed to pull")]
    assert re.match(rf'Failed to pull image "{re.escape(image)}": .*connection refused', failed)
    assert {one for one in found if one[2] != failed} == {
        ("Normal", "Pulling", f'Pulling image "{image}"'),
        ("Warning", "Failed", "Error: ErrImagePull"),
        ("Normal", "BackOff", f'Back-off pulling image "{image}"'),
        ("Warning", "Failed", "Error: ImagePullBackOff"),
    }


async def test_a_secret_that_is_not_there_is_told_where_a_variable_or_a_volume_wants_it(
    namespace: Namespace, node: ClusterNode
) -> None:
    variable = {"name": "V", "valueFrom": {"secretKeyRef": {"name": "none", "key": "word"}}}
    namespace.apply(pod("by-env", node, {"env": [variable]}))
    volumes = [{"name": "v", "secret": {"secretName": "none"}}]
    namespace.apply(pod("by-file", node, {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, volumes=volumes))
    lacking = ("Warning", "Failed", 'Error: secret "none" not found')
    await until(lambda: lacking in told(namespace, "by-env"), SOON_S)
    mount = ("Warning", "FailedMount", 'MountVolume.SetUp failed for volume "v" : secret "none" not found')
    await until(lambda: mount in told(namespace, "by-file"), SOON_S)
    assert {one[1] for one in told(namespace, "by-file")} == {"FailedMount"}


async def test_a_container_that_crashes_is_told_once_with_a_count(namespace: Namespace, node: ClusterNode) -> None:
    body = json.loads(pod("crashes", node, {"command": ["false"]}))
    body["spec"]["restartPolicy"] = "Always"
    namespace.apply(json.dumps(body))

    def restarted() -> dict[str, Any]:
        return {one["reason"]: one for one in events(namespace, "crashes")}

    await until(lambda: "BackOff" in restarted() and restarted()["Started"].get("count") == 2, SOON_S)
    uid = namespace.get("pod", "crashes")["metadata"]["uid"]
    whole = f"crashes_{namespace.name}({uid})"
    assert restarted()["BackOff"]["message"] == f"Back-off restarting failed container c in pod {whole}"
