"""Every condition with its reason and message, whole-pod reasons (kubelet behaviour, sections 6.1 and 6.3)."""

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
)

from podherd.wire.observed import SandboxSeen

NEVER: dict[str, Any] = {"restart": "Never"}
TRUE = ("True", "", "")
AT_9, AT_20 = "2027-01-15T08:00:09Z", "2027-01-15T08:00:20Z"
NEXT = [sandbox("s1", 1), sandbox(ready=False)]


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([], "no pod sandbox exists"),
        ([sandbox("s1", 1), sandbox()], "multiple pod sandboxes are ready and need to be reconciled"),
        ([sandbox(ready=False)], "pod sandbox is not ready"),
        ([sandbox(host_network=True)], "network namespace mode changed and sandbox needs to be recreated"),
        ([sandbox(ips=("",))], "pod sandbox has no IP address"),
        ([sandbox()], ""),
    ],
)
def test_ready_to_start_containers(boxes: list[SandboxSeen], message: str) -> None:
    expected = ("False", "PodSandboxNotReady", message) if message else TRUE
    assert condition(case(boxes=boxes).status(), "PodReadyToStartContainers") == expected


def waits_for(names: str) -> tuple[str, str, str]:
    return "False", "ContainersNotInitialized", f"containers with incomplete status: [{names}]"


INITIALIZED: dict[str, tuple[Case, tuple[str, str, str]]] = {
    "no init containers": (case(boxes=[]), TRUE),
    "nothing has begun": (case(pod(init=("b", "a"))), waits_for("b a")),
    "the first runs": (case(pod(init=("b", "a")), runs("b")), waits_for("b a")),
    "the first is done": (case(pod(init=("b", "a")), done("b")), waits_for("a")),
    "the first failed": (case(pod(init=("b", "a")), done("b", 1)), waits_for("b a")),
    "all are done": (case(pod(init=("b", "a")), done("b"), done("a")), TRUE),
    "a sidecar is to start": (case(pod(init=("a", sidecar("s"))), done("a"), created("s")), waits_for("s")),
    "a sidecar started": (case(pod(init=("a", sidecar("s"))), done("a"), runs("s")), TRUE),
    "a sidecar crashed before the app": (
        case(pod(init=(sidecar("s"), "a")), done("s", 1), runs("a")),
        waits_for("s a"),
    ),
    "a sidecar crashed beside the app": (case(pod(init=(sidecar("s"),)), done("s", 1), runs("main")), TRUE),
    "pruned beside the app": (case(pod(init=("a",)), runs("main")), TRUE),
    "to run again in a new sandbox": (case(pod(init=("a",)), done("a"), done("main", 137), boxes=NEXT), waits_for("a")),
    "failed for good": (case(pod(init=("a", "b"), **NEVER), done("a", 1)), waits_for("a b")),
    "succeeded": (case(pod(init=("a",), **NEVER), done("a"), done("main")), ("True", "PodCompleted", "")),
    "succeeded without init containers": (case(pod(**NEVER), done("main")), ("True", "PodCompleted", "")),
    "failed": (case(pod(init=("a",), **NEVER), done("a"), done("main", 1)), TRUE),
}


@pytest.mark.parametrize(("world", "expected"), INITIALIZED.values(), ids=INITIALIZED)
def test_initialized(world: Case, expected: tuple[str, str, str]) -> None:
    assert condition(world.status(), "Initialized") == expected


def unready(names: str) -> tuple[str, str, str]:
    return "False", "ContainersNotReady", f"containers with unready status: [{names}]"


READY: dict[str, tuple[Case, tuple[str, str, str]]] = {
    "all run": (case(pod(("b", "a")), runs("b"), runs("a")), TRUE),
    "some do not, in the order of the spec": (case(pod(("c", "b", "a")), runs("b")), unready("c a")),
    "a sidecar does not": (
        case(pod(init=("i", sidecar("s"))), done("i"), done("s", 1), runs("main")),
        unready("s"),
    ),
    "a sidecar and the app do not": (case(pod(init=("i", sidecar("s")))), unready("s main")),
    "an init container that is done is not asked": (case(pod(init=("i",)), done("i"), runs("main")), TRUE),
    "an ephemeral container is not asked": (case(pod(debug=("d",)), runs("main")), TRUE),
    "succeeded": (case(pod(**NEVER), done("main")), ("False", "PodCompleted", "")),
    "failed": (case(pod(**NEVER), done("main", 1)), ("False", "PodFailed", "")),
    "failed as a whole while it runs": (
        case(None, runs("main"), reason=("DeadlineExceeded", "late")),
        ("False", "PodFailed", ""),
    ),
}


@pytest.mark.parametrize(("world", "expected"), READY.values(), ids=READY)
def test_ready_and_containers_ready(world: Case, expected: tuple[str, str, str]) -> None:
    status = world.status()
    assert condition(status, "Ready") == condition(status, "ContainersReady") == expected


def gated(**others: str) -> Case:
    """An API pod with the gates `g` and `h`, and these conditions of other owners."""
    given = [{"type": kind, "status": value, "lastTransitionTime": "x"} for kind, value in others.items()]
    gates = [{"conditionType": "g"}, {"conditionType": "h"}]
    return case(pod(source="api", readinessGates=gates, status={"conditions": given}), runs("main"))


@pytest.mark.parametrize(
    ("world", "expected"),
    [
        (gated(g="True", h="True"), TRUE),
        (
            gated(g="False", h="True"),
            ("False", "ReadinessGatesNotReady", 'the status of pod readiness gate "g" is not "True", but False'),
        ),
        (
            gated(g="Unknown"),
            (
                "False",
                "ReadinessGatesNotReady",
                'the status of pod readiness gate "g" is not "True", but Unknown, '
                'corresponding condition of pod readiness gate "h" does not exist.',
            ),
        ),
    ],
)
def test_readiness_gates_are_for_ready_alone(world: Case, expected: tuple[str, str, str]) -> None:
    status = world.status()
    assert condition(status, "Ready") == expected
    assert condition(status, "ContainersReady") == TRUE


def test_gates_are_not_asked_before_the_containers_are_ready() -> None:
    world = gated()
    world.views = []
    assert condition(world.status(), "Ready") == unready("main")


def test_conditions_of_other_owners_are_kept_as_they_are() -> None:
    mine = {"type": "example.com/lit", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z", "reason": "Dim"}
    target = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    status = case(pod(source="api", status={"conditions": [mine, target]}), runs("main")).status()
    assert status["conditions"][5:] == [mine, target]
    assert [each["type"] for each in status["conditions"][:5]] == [
        "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
    ]  # fmt: skip


def test_a_new_agent_takes_the_times_of_our_conditions_from_the_api() -> None:
    old = "2026-01-01T00:00:00Z"
    given = [
        {"type": "Ready", "status": "True", "lastTransitionTime": old, "lastProbeTime": None},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": old},
        {"type": "Initialized", "status": "False", "lastTransitionTime": old, "reason": "ContainersNotInitialized"},
        {"type": "ContainersReady", "status": "True"},
    ]
    told_now = case(pod(source="api", status={"conditions": given}), runs("main")).status()["conditions"]
    assert {each["type"]: each["lastTransitionTime"] for each in told_now} == {
        "PodReadyToStartContainers": AT_9, "Initialized": AT_9, "Ready": old, "ContainersReady": AT_9,
        "PodScheduled": old,
    }  # fmt: skip
    assert all(each["lastProbeTime"] is None for each in told_now)


def test_a_transition_time_moves_with_the_status_alone() -> None:
    record = case(pod(("a", "b")), runs("a")).record()
    first = {each["type"]: each["lastTransitionTime"] for each in told(record)["conditions"]}
    record.see(observed(T0 + 20, [sandbox()], []))
    told(record, T0 + 15)
    record.see(observed(T0 + 20, [sandbox()], [runs("a"), runs("b")]))
    second = {each["type"]: each["lastTransitionTime"] for each in told(record, T0 + 20)["conditions"]}
    assert set(first.values()) == {AT_9}
    assert {kind for kind in second if second[kind] == AT_20} == {"Ready", "ContainersReady"}


def test_every_condition_bears_the_generation_and_a_new_one_moves_no_time() -> None:
    record = case(pod(source="api", metadata={"generation": 3}), runs("main")).record()
    assert {each["observedGeneration"] for each in told(record)["conditions"]} == {3}
    record.want(pod(source="api", metadata={"generation": 4}), "edit")
    status = told(record, T0 + 20)
    assert status["observedGeneration"] == 4
    assert {(each["observedGeneration"], each["lastTransitionTime"]) for each in status["conditions"]} == {(4, AT_9)}


RULED = [one("main", restartPolicy="Never", restartPolicyRules=RESTART_ALL_ON_42), "b"]
RESTARTING: dict[str, tuple[Case, tuple[str, str, str] | None]] = {
    "no rule may": (case(pod([one("main", restartPolicy="Never", restartPolicyRules=RESTART_ON_42)])), None),
    "no rule has": (case(pod(RULED), runs("main"), runs("b")), ("False", "", "")),
    "an exit code that no rule names": (case(pod(RULED), done("main", 41), runs("b")), ("False", "", "")),
    "a rule does": (
        case(pod(RULED), done("main", 42), runs("b")),
        ("True", "RestartAllContainersStarted", "container exited with restart policy rule"),
    ),
    "an init container's rule does": (
        case(pod(init=[one("i", restartPolicy="Never", restartPolicyRules=RESTART_ALL_ON_42)]), done("i", 42)),
        ("True", "RestartAllContainersStarted", "container exited with restart policy rule"),
    ),
    "all are removed": (case(pod(RULED), before=[done("main", 42), runs("b")]), ("False", "", "")),
    "succeeded": (case(pod(RULED, **NEVER), done("main"), done("b")), ("False", "PodCompleted", "")),
    "failed": (case(pod(RULED, **NEVER), done("main", 1), done("b")), ("False", "PodFailed", "")),
}


@pytest.mark.parametrize(("world", "expected"), RESTARTING.values(), ids=RESTARTING)
def test_all_containers_restarting(world: Case, expected: tuple[str, str, str] | None) -> None:
    status = world.status()
    types = [each["type"] for each in status["conditions"]]
    assert ("AllContainersRestarting" in types) is (expected is not None)
    assert expected is None or condition(status, "AllContainersRestarting") == expected


@pytest.mark.parametrize(
    ("world", "reason", "message"),
    [
        (case(None, runs("main"), reason=("DeadlineExceeded", "late")), "DeadlineExceeded", "late"),
        (case(None, runs("main"), reason=("DeadlineExceeded", "")), "DeadlineExceeded", None),
        (
            case(pod(source="api", status={"phase": "Failed", "reason": "Evicted", "message": "disk"})),
            "Evicted",
            "disk",
        ),
        (case(pod(source="api", status={"phase": "Pending", "reason": "Odd"}), boxes=[]), "Odd", None),
        (case(pod(source="api", status={"phase": "Pending", "reason": "Odd"}), runs("main")), None, None),
        (case(), None, None),
    ],
    ids=["ours", "ours alone", "the API's", "the API's of this phase", "the API's of another phase", "none"],
)
def test_the_reason_of_the_phase_is(world: Case, reason: str | None, message: str | None) -> None:
    status = world.status()
    assert (status.get("reason"), status.get("message")) == (reason, message)


def test_the_qos_class_counts_init_containers() -> None:
    half = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    full = one("main", resources=half)
    assert case(pod([full], init=[one("i", resources=half)])).status()["qosClass"] == "Guaranteed"
    assert case(pod([full], init=["i"])).status()["qosClass"] == "Burstable"
    assert case(pod(init=["i"])).status()["qosClass"] == "BestEffort"
