"""The audit sees each step back that a status may not take, and none in a life as it should be."""

from typing import Any

import pytest
from tests.kit.audit import Judge, audited
from tests.kit.cluster import ControlPlane
from tests.kit.waiting import until

POD = """
apiVersion: v1
kind: Pod
metadata: {name: audited}
spec: {nodeName: nowhere, terminationGracePeriodSeconds: 0, containers: [{name: main, image: podherd.local/busybox:1}]}
"""


def version(phase: str = "Running", **told: Any) -> dict[str, Any]:
    """One version of a pod; told: the status of its only container."""
    meta = {"namespace": "default", "name": "a", "uid": "u", "resourceVersion": "7"}
    return {"metadata": meta, "status": {"phase": phase, "containerStatuses": [{"name": "main", **told}]}}


def running(ident: str, restarts: int = 0, **more: Any) -> dict[str, Any]:
    """Its container runs."""
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    return version(containerID=ident, restartCount=restarts, state=state, **more)


def ended(ident: str, restarts: int = 0, phase: str = "Running") -> dict[str, Any]:
    """Its container has ended."""
    state = {"terminated": {"exitCode": 0, "containerID": ident}}
    return version(phase, containerID=ident, restartCount=restarts, state=state)


def waiting(last: str, restarts: int = 0) -> dict[str, Any]:
    """Its container waits to be started again."""
    before = {"terminated": {"exitCode": 1, "containerID": last}}
    state = {"waiting": {"reason": "CrashLoopBackOff"}}
    return version(containerID=last, restartCount=restarts, state=state, lastState=before)


GOOD = [version("Pending"), running("c1"), ended("c1"), waiting("c1"), running("c2", 1), ended("c2", 1, "Succeeded")]
BAD = {
    "went from Succeeded to Running": [ended("c1", phase="Succeeded"), running("c2", 1)],
    "restartCount went from 1 to 0": [running("c1", 1), running("c1", 0)],
    "runs again after it was told terminated": [ended("c1"), running("c1")],
    "ran twice under restartCount 0": [running("c1"), running("c2")],
}


def judged(versions: list[dict[str, Any]]) -> list[str]:
    """The problems in these versions."""
    judge = Judge()
    for pod in versions:
        judge.read("MODIFIED", pod)
    return judge.problems


def test_a_life_as_it_should_be_has_no_problem() -> None:
    assert judged(GOOD) == []
    assert judged([pod for pod in GOOD for _ in range(2)]) == []


@pytest.mark.parametrize("problem", BAD)
def test_a_step_back_is_seen(problem: str) -> None:
    (told,) = judged(BAD[problem])
    assert problem in told


def test_a_pod_that_is_back_after_its_deletion_is_seen() -> None:
    judge = Judge()
    for kind in ("ADDED", "DELETED", "MODIFIED"):
        judge.read(kind, running("c1"))
    assert ["after its deletion" in told for told in judge.problems] == [True]


async def test_every_version_is_read_also_beyond_a_restart_of_the_server(own_control_plane: ControlPlane) -> None:
    cluster = own_control_plane
    with audited(cluster) as audit:
        cluster.apply(POD)
        await until(lambda: audit.of("audited"))
        cluster.stop_api()
        cluster.start_api()
        cluster.kubectl("label", "pod", "audited", "some=word")
        cluster.kubectl("delete", "pod", "audited")
    told = audit.of("audited")
    assert told[0]["metadata"].get("labels") is None
    assert told[-1]["metadata"]["labels"] == {"some": "word"}
    assert audit.versions[-1][0] == "DELETED"
    assert audit.problems() == []
    assert audit.uids() == {told[0]["metadata"]["uid"]}
