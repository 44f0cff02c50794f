"""READY, STATUS, RESTARTS and AGE as kubectl prints them."""

from typing import Any

import pytest

from podherd.agent.table import age, columns, pod_line

NOW = 1_000_000.0


def container(state: str, reason: str = "", *, ready: bool = False, restarts: int = 0, code: int = 0, name: str = "a",
              started: bool = False, last_end: str = "", signal: int = 0) -> dict[str, Any]:  # fmt: skip
    detail: dict[str, Any] = {"reason": reason} if reason else {}
    if state == "terminated":
        detail |= {"exitCode": code, **({"signal": signal} if signal else {})}
    last = {"terminated": {"finishedAt": last_end}} if last_end else {}
    return {"name": name, "ready": ready, "restartCount": restarts, "state": {state: detail}, "lastState": last,
            "started": started}  # fmt: skip


def row(*containers: dict[str, Any], phase: str = "Running", deleting: bool = False, init: list[Any] | None = None,
        conditions: tuple[str, ...] = (), sidecars: tuple[str, ...] = (), **status: Any) -> dict[str, Any]:  # fmt: skip
    return {
        "uid": "u", "namespace": "default", "name": "web", "source": "file", "phase": phase, "deleting": deleting,
        "createdAt": NOW - 300, "sidecars": sidecars,
        "status": {
            "phase": phase, "containerStatuses": list(containers), "initContainerStatuses": init or [],
            "conditions": [{"type": kind, "status": "True"} for kind in conditions], **status,
        },
    }  # fmt: skip


RUNNING = container("running", ready=True)
SIDECAR = container("running", ready=True, started=True, restarts=2, name="s")
READY = ("Initialized", "Ready")


@pytest.mark.parametrize(
    ("pod", "ready", "status", "restarts"),
    [
        (row(RUNNING), "1/1", "Running", "0"),
        (row(container("running")), "0/1", "Running", "0"),
        (row(container("waiting", "ContainerCreating"), phase="Pending"), "0/1", "ContainerCreating", "0"),
        (row(container("waiting"), phase="Pending"), "0/1", "Pending", "0"),
        (row(container("waiting", "CrashLoopBackOff", restarts=7)), "0/1", "CrashLoopBackOff", "7"),
        (row(container("waiting", "ImagePullBackOff"), phase="Pending"), "0/1", "ImagePullBackOff", "0"),
        (row(container("terminated", "Completed"), phase="Succeeded"), "0/1", "Completed", "0"),
        (row(container("terminated", "Error", code=1), phase="Failed"), "0/1", "Error", "0"),
        (row(container("terminated", "OOMKilled", code=137)), "0/1", "OOMKilled", "0"),
        (row(container("terminated", code=3), phase="Failed"), "0/1", "ExitCode:3", "0"),
        (row(container("terminated", code=137, signal=9), phase="Failed"), "0/1", "Signal:9", "0"),
        (row(RUNNING, deleting=True), "1/1", "Terminating", "0"),
        (row(container("terminated", "Completed"), phase="Succeeded", deleting=True), "0/1", "Completed", "0"),
        (row(RUNNING, container("terminated", "Completed"), conditions=READY), "1/2", "Running", "0"),
        (row(RUNNING, container("terminated", "Completed")), "1/2", "NotReady", "0"),
        (row(container("terminated", "Error", code=1), RUNNING), "1/2", "Error", "0"),
        (row(container("waiting", "CrashLoopBackOff"), container("waiting", "ErrImagePull")), "0/2",
         "CrashLoopBackOff", "0"),
        (row(phase="Failed", reason="Evicted"), "0/0", "Evicted", "0"),
        (row(container("waiting", "PodInitializing"), phase="Pending",
             init=[container("waiting", "PodInitializing"), container("waiting", "PodInitializing")]),
         "0/1", "Init:0/2", "0"),
        (row(container("waiting", "PodInitializing"), phase="Pending",
             init=[container("terminated", "Completed"), container("running")]), "0/1", "Init:1/2", "0"),
        (row(container("waiting", "PodInitializing"), phase="Pending",
             init=[container("waiting", "CrashLoopBackOff", restarts=4)]), "0/1", "Init:CrashLoopBackOff", "4"),
        (row(container("waiting", "PodInitializing"), phase="Pending", init=[container("terminated", "Error", code=1)]),
         "0/1", "Init:Error", "0"),
        (row(container("waiting", "PodInitializing"), phase="Pending", init=[container("terminated", code=2)]),
         "0/1", "Init:ExitCode:2", "0"),
        (row(RUNNING, init=[container("terminated", "Completed", restarts=2)], conditions=READY),
         "1/1", "Running", "0"),
        (row(RUNNING, init=[SIDECAR], conditions=READY, sidecars=("s",)), "2/2", "Running", "2"),
        (row(container("waiting", "PodInitializing"), init=[SIDECAR, container("running", name="b")], phase="Pending",
             sidecars=("s",)), "1/2", "Init:1/2", "2"),
        (row(container("waiting", "PodInitializing"), init=[container("running", name="s")], phase="Pending",
             sidecars=("s",)), "0/2", "Init:0/1", "0"),
        (row(RUNNING, init=[container("waiting", "CrashLoopBackOff", name="s", restarts=3)], conditions=READY,
             sidecars=("s",)), "1/2", "Init:CrashLoopBackOff", "3"),
        (row(container("waiting", "PodInitializing"), phase="Pending", sidecars=("s",),
             init=[container("waiting", "CrashLoopBackOff", name="s", restarts=3)]), "0/2", "Init:CrashLoopBackOff",
         "3"),
        (row(container("terminated", "Completed"), init=[container("terminated", "Completed", name="s")],
             phase="Succeeded", conditions=("Initialized",), sidecars=("s",)), "0/2", "Completed", "0"),
        (row(container("waiting", "ErrImagePull"), init=[container("terminated", "Completed")], phase="Pending"),
         "0/1", "ErrImagePull", "0"),
        (row(container("running", ready=True, restarts=3, last_end="1970-01-12T13:45:10Z")),
         "1/1", "Running", "3 (90s ago)"),
    ],
)  # fmt: skip
def test_a_pods_cells(pod: dict[str, Any], ready: str, status: str, restarts: str) -> None:
    line = pod_line(pod, NOW)
    assert (line.ready, line.status, line.restarts, line.age, line.ip) == (ready, status, restarts, "5m", "<none>")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "<invalid>"), (-0.5, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (600, "10m"),
     (10799, "179m"), (10800, "3h"), (10860, "3h1m"), (28800, "8h"), (28860, "8h"), (172799, "47h"), (172800, "2d"),
     (176400, "2d1h"),
     (691200, "8d"), (730 * 86400, "2y"), (800 * 86400, "2y70d"), (3000 * 86400, "8y")],
)  # fmt: skip
def test_ages_are_two_units_at_most(seconds: float, text: str) -> None:
    assert age(seconds) == text


def test_a_cell_is_one_line_whatever_it_says() -> None:
    assert columns(("A",), [("é\n\x1b[31mb",)]) == "A\né  [31mb\n"


def test_columns_are_aligned_without_trailing_spaces() -> None:
    assert columns(("A", "LONG"), [("aaaa", "b"), ("c", "")]) == "A      LONG\naaaa   b\nc\n"
