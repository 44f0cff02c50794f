"""The strict look at undisturbed pods sees each step that such a pod may not take, and none in a life without one."""

from typing import Any

import pytest
from tests.cluster.lives import cut_off, disturbed

STATES: dict[str, dict[str, Any]] = {
    "waiting": {"reason": "ContainerCreating"},
    "running": {"startedAt": "2026-01-01T00:00:00Z"},
    "terminated": {"exitCode": 0},
}


def version(phase: str, state: str, ready: bool = False, restarts: int = 0, **more: Any) -> dict[str, Any]:
    """One version of a pod of one container; more: instead of what is usual."""
    told = {"name": "main", "containerID": "c1" * (state != "waiting"), "restartCount": restarts} | {
        "state": {state: STATES[state]}
    }
    status = {
        "phase": phase,
        "podIP": "10.0.0.2" * (state != "waiting"),
        "conditions": [{"type": "Ready", "status": str(ready)}],
        "containerStatuses": [told],
    }
    return {"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}, "status": status | more}


def container(**told: Any) -> dict[str, Any]:
    """A version in which the container's own status is another."""
    pod = version("Running", "running", ready=True)
    pod["status"]["containerStatuses"][0] |= told
    return pod


NEW = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}, "status": {"phase": "Pending"}}
WAITS = version("Pending", "waiting")
RUNS = version("Running", "running", ready=True)
UNREADY = version("Running", "running")
ENDS = version("Running", "terminated")
OVER = version("Succeeded", "terminated")
BAD = {
    "phase Running, then Pending": [RUNS, version("Pending", "running", ready=True)],
    "main: running, then waiting": [RUNS, container(state={"waiting": {}})],
    "main: terminated, then running": [ENDS, UNREADY],
    "main: c1, then c2": [RUNS, container(containerID="c2")],
    "main: c1, then no id": [RUNS, container(containerID="")],
    "main: ended with 1": [WAITS, container(restartCount=1, lastState={"terminated": {"exitCode": 1}})],
    "main: told of no more": [RUNS, version("Running", "running", ready=True, containerStatuses=[])],
    "IP 10.0.0.2, then 10.0.0.3": [RUNS, version("Running", "running", ready=True, podIP="10.0.0.3")],
    "Ready no more": [RUNS, UNREADY],
}


def look(pods: list[dict[str, Any]], **how: bool) -> list[str]:
    """What is wrong with these versions of a pod."""
    return disturbed([("MODIFIED", pod) for pod in pods], **how)


def test_an_undisturbed_life_has_nothing_wrong() -> None:
    deleted = {**ENDS, "metadata": ENDS["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert look([NEW, NEW, WAITS, UNREADY, RUNS, RUNS, deleted, OVER]) == []


@pytest.mark.parametrize("problem", BAD)
def test_a_disturbance_is_seen(problem: str) -> None:
    assert look(BAD[problem]) == [f"a: {problem} (version 7)"]


def test_who_loses_the_node_may_call_its_pods_unready() -> None:
    assert look([RUNS, UNREADY], steady=False) == []


def test_a_start_that_was_cut_off_is_told_of_and_another_may_follow() -> None:
    cut = {"terminated": {"exitCode": 128, "reason": "StartError", "containerID": "c0"}}
    lives = [WAITS, container(containerID="c0", state=cut), container(restartCount=1, lastState=cut), RUNS]
    unready = [lives[0], version("Running", "waiting", containerStatuses=lives[1]["status"]["containerStatuses"])]
    versions = [("MODIFIED", pod) for pod in (*unready, *lives[2:])]
    assert disturbed(versions) == []
    assert cut_off(versions) == {("u", "main"): 1}


def test_who_has_run_is_not_cut_off() -> None:
    cut = {"terminated": {"exitCode": 255, "reason": "Unknown", "containerID": "c1"}}
    assert look([RUNS, container(containerID="c2", lastState=cut)]) == ["a: main: c1, then c2 (version 7)"]
