"""The phase over init, sidecar and regular containers (kubelet behaviour, section 6.1)."""

from typing import Any

import pytest
from tests.machines.pod.builders import T0, observed, sandbox
from tests.machines.pod.told import (
    RESTART_ALL_ON_42,
    RESTART_ON_42,
    Case,
    case,
    condition,
    created,
    done,
    one,
    pod,
    runs,
    sidecar,
    told,
    unknown,
)

NEVER: dict[str, Any] = {"restart": "Never"}
ON_FAILURE: dict[str, Any] = {"restart": "OnFailure"}
TWO = ("a", "b")
API: dict[str, Any] = {"source": "api"}
DEAD = [sandbox(ready=False)]
NEXT = [sandbox("s1", 1), sandbox(ready=False)]

WORLDS: dict[str, tuple[Case, str]] = {
    # Regular containers.
    "nothing is there": (case(boxes=[]), "Pending"),
    "a sandbox alone": (case(), "Pending"),
    "one is created": (case(None, created("main")), "Pending"),
    "one runs": (case(None, runs("main")), "Running"),
    "one of two waits for its first run": (case(pod(TWO), runs("a")), "Pending"),
    "one of two has ended, the other waits": (case(pod(TWO, **NEVER), done("a", 1)), "Pending"),
    "one of two has ended, the other runs": (case(pod(TWO, **NEVER), done("a", 1), runs("b")), "Running"),
    "Always: all have ended": (case(pod(TWO), done("a"), done("b", 1)), "Running"),
    "Always: in back-off after a crash": (
        case(None, done("main", 1), fail={"main": ("CrashLoopBackOff", "")}),
        "Running",
    ),
    "Always: created again after a crash": (case(None, created("main"), done("main", 1, id="old")), "Running"),
    "OnFailure: all ended well": (case(pod(TWO, **ON_FAILURE), done("a"), done("b")), "Succeeded"),
    "OnFailure: one failed": (case(pod(TWO, **ON_FAILURE), done("a"), done("b", 1)), "Running"),
    "Never: all ended well": (case(pod(TWO, **NEVER), done("a"), done("b")), "Succeeded"),
    "Never: one failed": (case(pod(TWO, **NEVER), done("a"), done("b", 1)), "Failed"),
    "Always: one is in unknown state": (case(None, unknown("main")), "Running"),
    "Never: one is in unknown state": (case(pod(**NEVER), unknown("main")), "Failed"),
    "Always: one has vanished": (case(None, before=[runs("main")]), "Running"),
    "Never: one has vanished": (case(pod(**NEVER), before=[runs("main")]), "Failed"),
    # A container's own policy and rules.
    "its own Never in a pod of Always": (case(pod([one("main", restartPolicy="Never")]), done("main", 1)), "Failed"),
    "its own Always in a pod of Never": (case(pod([sidecar("main")], **NEVER), done("main", 1)), "Running"),
    "its own OnFailure ended well": (case(pod([one("main", restartPolicy="OnFailure")]), done("main")), "Succeeded"),
    "a rule restarts it": (
        case(pod([one("main", restartPolicy="Never", restartPolicyRules=RESTART_ON_42)], **NEVER), done("main", 42)),
        "Running",
    ),
    "a rule that speaks of another exit code": (
        case(pod([one("main", restartPolicy="Never", restartPolicyRules=RESTART_ON_42)], **NEVER), done("main", 41)),
        "Failed",
    ),
    "a rule restarts all": (
        case(
            pod([one("main", restartPolicy="Never", restartPolicyRules=RESTART_ALL_ON_42)], **NEVER), done("main", 42)
        ),
        "Running",
    ),
    # Init containers.
    "init: nothing has begun": (case(pod(init=TWO)), "Pending"),
    "init: the first runs": (case(pod(init=TWO), runs("a")), "Pending"),
    "init: the first is done": (case(pod(init=TWO), done("a")), "Pending"),
    "init: all are done, the app is to come": (case(pod(init=TWO), done("a"), done("b")), "Pending"),
    "init: done, the app runs": (case(pod(init=["a"]), done("a"), runs("main")), "Running"),
    "init: pruned, the app runs": (case(pod(init=["a"]), runs("main")), "Running"),
    "init: failed, may run again": (case(pod(init=TWO), done("a", 1)), "Pending"),
    "init: failed, OnFailure": (case(pod(init=TWO, **ON_FAILURE), done("a", 1)), "Pending"),
    "init: failed, Never": (case(pod(init=TWO, **NEVER), done("a", 1)), "Failed"),
    "init: killed for memory with exit 0, Never": (
        case(pod(init=["a"], **NEVER), done("a", 0, reason="OOMKilled")),
        "Failed",
    ),
    "init: failed, Never, but its rule restarts it": (
        case(pod(init=[one("a", restartPolicy="Never", restartPolicyRules=RESTART_ON_42)], **NEVER), done("a", 42)),
        "Pending",
    ),
    "init: vanished while it ran, Never": (case(pod(init=["a"], **NEVER), before=[runs("a")]), "Failed"),
    "init: in unknown state, Never": (case(pod(init=["a"], **NEVER), unknown("a")), "Failed"),
    "init: failed in the past of an app that runs": (
        case(pod(init=["a"], **NEVER), done("a", 1), runs("main")),
        "Running",
    ),
    "init: to run again in a new sandbox": (
        case(pod(init=["a"]), done("a"), done("main", 137), boxes=NEXT),
        "Pending",
    ),
    "init: its sandbox died and was not replaced yet": (
        case(pod(init=["a"]), done("a"), done("main", 137), boxes=DEAD),
        "Running",
    ),
    # Sidecars.
    "sidecar: is to start": (case(pod(init=[sidecar("s")])), "Pending"),
    "sidecar: started, the app is to come": (case(pod(init=[sidecar("s")]), runs("s")), "Pending"),
    "sidecar: crashed before the app came": (case(pod(init=[sidecar("s")]), done("s", 1)), "Pending"),
    "sidecar: runs beside the app": (case(pod(init=[sidecar("s")]), runs("s"), runs("main")), "Running"),
    "sidecar: crashed beside the app": (case(pod(init=[sidecar("s")]), done("s", 1), runs("main")), "Running"),
    "sidecar: gone without a trace beside the app": (case(pod(init=[sidecar("s")]), runs("main")), "Running"),
    "sidecar: runs on after the app": (
        case(pod(init=[sidecar("s")], **NEVER), runs("s"), done("main")),
        "Running",
    ),
    "sidecar: stopped after an app that ended well": (
        case(pod(init=[sidecar("s")], **NEVER), done("s", 137), done("main")),
        "Succeeded",
    ),
    "sidecar: stopped after an app that failed": (
        case(pod(init=[sidecar("s")], **NEVER), done("s", 0), done("main", 3)),
        "Failed",
    ),
    # Ephemeral containers count for nothing.
    "ephemeral: waits beside an app that runs": (case(pod(debug=["d"]), runs("main")), "Running"),
    "ephemeral: runs after the app": (case(pod(debug=["d"], **NEVER), done("main"), runs("d")), "Succeeded"),
    # Pods that are over.
    "ended while it waited": (case(pod(**API), boxes=[], ending=True), "Failed"),
    "ended while it ran, killed": (case(pod(**API), done("main", 137), boxes=DEAD, ending=True), "Failed"),
    "ended while it ran, went well": (case(pod(**API), done("main"), boxes=DEAD, ending=True), "Succeeded"),
    "ended, one never ran": (case(pod(TWO, **API), done("a"), boxes=DEAD, ending=True), "Failed"),
    "ended in its init containers": (case(pod(init=TWO, **API), done("a"), boxes=DEAD, ending=True), "Failed"),
    "ended after its init containers, went well": (
        case(pod(init=["a"], **API), done("a"), done("main"), boxes=DEAD, ending=True),
        "Succeeded",
    ),
    "ended, went well, and its sandbox is gone": (
        Case(pod(init=["a"], **API), [(DEAD, [done("a"), done("main")]), ([], [])], ending=True),
        "Succeeded",
    ),
    "ending, still runs": (case(pod(**API), runs("main"), ending=True), "Running"),
    "a static pod that ended while it ran": (case(None, done("main", 137), boxes=DEAD, ending=True), "Running"),
    "a static pod that ended while it waited": (case(None, boxes=[], ending=True), "Pending"),
    "past its deadline, still runs": (case(None, runs("main"), reason=("DeadlineExceeded", "")), "Failed"),
    "past its deadline, waits": (case(boxes=[], reason=("DeadlineExceeded", "")), "Failed"),
    # What the API has.
    "the API says Failed": (case(pod(status={"phase": "Failed"}, **API), runs("main")), "Failed"),
    "the API says Succeeded": (case(pod(status={"phase": "Succeeded"}, **API), boxes=[]), "Succeeded"),
    "the API says Running": (case(pod(status={"phase": "Running"}, **API), boxes=[]), "Pending"),
    "a file says Failed": (case(pod(status={"phase": "Failed"}), runs("main")), "Running"),
}


@pytest.mark.parametrize(("world", "phase"), WORLDS.values(), ids=WORLDS)
def test_the_phase_of(world: Case, phase: str) -> None:
    assert world.status()["phase"] == phase


@pytest.mark.parametrize("first", ["Succeeded", "Failed"])
def test_a_terminal_phase_is_kept_whatever_is_seen_afterwards(first: str) -> None:
    record = case(pod(**NEVER), done("main", int(first == "Failed"))).record()
    assert told(record)["phase"] == first
    for containers in ([runs("main", "main-1", attempt=1)], [done("main", 5, "main-2", attempt=2)], []):
        record.see(observed(T0 + 20 + len(containers), [sandbox()], containers))
        status = told(record)
        assert status["phase"] == first
        assert condition(status, "Ready")[:2] == ("False", "PodCompleted" if first == "Succeeded" else "PodFailed")
