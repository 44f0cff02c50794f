"""Every kind of workload that users apply reaches its end state on a podherd node, and leaves nothing behind."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.leavings import leavings
from tests.kit.audit import Audit
from tests.kit.cluster_node import ClusterNode
from tests.kit.namespace import Namespace
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX

WORKLOADS = Path(__file__).parent / "workloads"
KINDS = ("objects", "deployment", "job", "daemonset", "statefulset", "cronjob")
JOB_S = 60
CRON_S = 100
GONE_S = 90.0
MANY = 40
MANY_S = 180


def manifests(namespace: Namespace, node: ClusterNode, *kinds: str) -> str:
    """The documents of these kinds, with the words of this test in them."""
    words = {"@NODE@": node.name, "@ROOT@": str(node.root), "@NAMESPACE@": namespace.name, "@IMAGE@": BUSYBOX}
    text = "\n---\n".join((WORKLOADS / f"{kind}.yaml").read_text() for kind in kinds)
    for word, value in words.items():
        text = text.replace(word, value)
    return text


async def nothing_left(namespace: Namespace, node: ClusterNode, audit: Audit) -> None:
    """Delete all that makes pods; no pod, no trace of one, and no step back in what was told of them."""
    namespace.kubectl("delete", "deployments,jobs,daemonsets,statefulsets,cronjobs", "--all", "--cascade=foreground")
    await until(lambda: not namespace.pods(), GONE_S)
    with suppress(TimeoutError):
        await until(lambda: not leavings(node, audit.uids()), GONE_S)
    assert leavings(node, audit.uids()) == []
    audit.end()
    assert audit.problems() == []


def last_words(pod: dict[str, Any]) -> list[str]:
    """The termination message of its only container, in lines."""
    (told,) = pod["status"]["containerStatuses"]
    lines: list[str] = told["state"]["terminated"]["message"].splitlines()
    return lines


@pytest.mark.timeout(500)
async def test_every_kind_of_workload_reaches_its_end_state(
    namespace: Namespace, node: ClusterNode, audit: Audit
) -> None:
    (node.root / "disk").mkdir()
    namespace.apply(manifests(namespace, node, *KINDS))
    for what in ("deployment/web", "daemonset/agent", "statefulset/db"):
        namespace.rolled_out(what)
    namespace.kubectl("wait", "--for=condition=Complete", "job/reader", f"--timeout={JOB_S}s")
    assert (node.root / "disk" / "lines").read_text() == "kept by db-0\n"
    for pod in namespace.pods("-l", "app=reader"):
        assert pod["status"]["phase"] == "Succeeded"
        assert last_words(pod) == [
            f"env from-the-config from-the-secret {node.name} 80",
            "files from-the-config from-the-secret reader",
            "modes 400 644",
            f"tokens eyJ eyJ {namespace.name}",
            "-----BEGIN CERTIFICATE-----",
        ]
    namespace.kubectl("wait", "--for=jsonpath={.status.lastSuccessfulTime}", "cronjob/often", f"--timeout={CRON_S}s")
    await nothing_left(namespace, node, audit)


@pytest.mark.timeout(300)
async def test_a_stateful_pod_keeps_its_volume_beyond_its_deletion(
    namespace: Namespace, node: ClusterNode, audit: Audit
) -> None:
    (node.root / "disk").mkdir(exist_ok=True)
    (node.root / "disk" / "lines").unlink(missing_ok=True)
    namespace.apply(manifests(namespace, node, "objects", "statefulset"))
    namespace.rolled_out("statefulset/db")
    (before,) = namespace.pods()
    namespace.kubectl("delete", "pod", "db-0")
    await until(lambda: [one["metadata"]["uid"] for one in namespace.pods()] not in ([], [before["metadata"]["uid"]]))
    namespace.rolled_out("statefulset/db")
    assert (node.root / "disk" / "lines").read_text() == "kept by db-0\n" * 2
    await nothing_left(namespace, node, audit)


@pytest.mark.timeout(400)
async def test_a_rolling_update_replaces_each_pod_and_never_has_too_few(
    namespace: Namespace, node: ClusterNode, audit: Audit
) -> None:
    namespace.apply(manifests(namespace, node, "objects", "deployment"))
    namespace.rolled_out("deployment/web")
    first = {pod["metadata"]["uid"] for pod in namespace.pods()}
    begun = len(audit.versions)
    namespace.kubectl("set", "env", "deployment/web", "VERSION=two")
    namespace.rolled_out("deployment/web")
    await until(lambda: len(namespace.pods()) == len(first), GONE_S)
    second = namespace.pods()
    assert first.isdisjoint(pod["metadata"]["uid"] for pod in second)
    assert {pod["spec"]["containers"][0]["env"][0]["value"] for pod in second} == {"two"}
    assert min(available(audit, namespace.name)[begun:]) >= len(first)
    await nothing_left(namespace, node, audit)


def available(audit: Audit, namespace: str) -> list[int]:
    """How many pods of a namespace were Ready and not being deleted, after each version that was told."""
    ready: set[str] = set()
    counts = []
    for kind, pod in list(audit.versions):
        meta = pod["metadata"]
        if meta["namespace"] == namespace:
            conditions = pod["status"].get("conditions", ())
            is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
            if is_ready and kind != "DELETED" and "deletionTimestamp" not in meta:
                ready.add(meta["uid"])
            else:
                ready.discard(meta["uid"])
        counts.append(len(ready))
    return counts


@pytest.mark.timeout(600)
async def test_a_deployment_is_scaled_to_forty_pods_and_away(
    namespace: Namespace, node: ClusterNode, audit: Audit
) -> None:
    namespace.apply(manifests(namespace, node, "objects", "deployment"))
    namespace.kubectl("scale", "deployment/web", f"--replicas={MANY}")
    namespace.rolled_out("deployment/web", MANY_S)
    pods = namespace.pods()
    assert len({pod["status"]["podIP"] for pod in pods}) == MANY
    assert {pod["spec"]["nodeName"] for pod in pods} == {node.name}
    namespace.kubectl("scale", "deployment/web", "--replicas=1")
    await until(lambda: len(namespace.pods()) == 1, GONE_S)
    await nothing_left(namespace, node, audit)
