"""What a patch says, and what it leaves alone (kubelet behaviour, section 6.4)."""

import pytest
from tests.machines.status.made import FAILED, RUNNING, T0, T1, Status, condition, container, status

from podherd.machines.status.merge import merge
from podherd.machines.status.restarts import may_leave, restarts_of, told_restarts

FREE = restarts_of(b"")
PENDING = {"phase": "Pending", "qosClass": "BestEffort"}


def policy(name: str, **own: Status) -> Status:
    containers = [{"name": key, **words} for key, words in own.items()]
    return dict(restarts_of(told_restarts({"restartPolicy": name, "containers": containers})))


def patch_of(held: Status, local: Status, restarts: Status = FREE, *, stopped: bool = True) -> Status:
    return merge(held, local, restarts, 60.0, stopped=stopped) or {}


def test_equal_statuses_need_no_patch() -> None:
    assert merge(RUNNING, RUNNING, FREE, 0.0, stopped=False) is None


def test_what_the_api_server_writes_in_its_own_way_is_the_same() -> None:
    sent = {"resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}, "allocatedResources": {"cpu": "0.5"}}
    kept = {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "allocatedResources": {"cpu": "500m"}}
    local = status(
        "Running", container() | sent, reason="", conditions=[condition("Ready", "True", lastProbeTime=None)]
    )
    held = status("Running", container() | kept)
    assert merge(held, local, FREE, 0.0, stopped=False) is None


def test_times_are_told_and_compared_in_whole_seconds() -> None:
    local = {"phase": "Pending", "startTime": "2026-01-01T00:00:00.75Z"}
    assert patch_of({"phase": "Pending"}, local) == {"startTime": T0}
    assert patch_of({"phase": "Pending", "startTime": T0}, local) == {}


def test_only_what_differs_is_patched_and_what_is_gone_is_null() -> None:
    held = RUNNING | {"reason": "Old", "message": "old", "nominatedNodeName": "n2"}
    assert patch_of(held, RUNNING) == {"reason": None, "message": None}


def test_conditions_of_other_owners_are_never_patched() -> None:
    theirs = condition("example.com/gate", "True")
    held = RUNNING | {"conditions": [*RUNNING["conditions"], theirs]}
    local = RUNNING | {"conditions": [*RUNNING["conditions"], theirs | {"status": "False"}]}
    assert patch_of(held, local) == {}


def test_an_own_condition_that_is_over_is_deleted_by_type() -> None:
    held = RUNNING | {"conditions": [*RUNNING["conditions"], condition("PodResizePending", "True")]}
    assert patch_of(held, RUNNING) == {"conditions": [{"$patch": "delete", "type": "PodResizePending"}]}


def test_a_reason_that_a_condition_has_no_more_is_null() -> None:
    held = status("Running", container(), conditions=[condition("Ready", "False", reason="R", message="m")])
    new = condition("Ready", "True", T1)
    local = status("Running", container(), conditions=[new])
    assert patch_of(held, local)["conditions"] == [new | {"reason": None, "message": None}]


def test_a_condition_whose_status_stays_keeps_the_time_that_the_api_has() -> None:
    local = RUNNING | {"conditions": [condition("Ready", "True", T1)], "startTime": T1}
    assert patch_of(RUNNING, local) == {}


def test_addresses_are_replaced_as_a_list_and_kept_while_the_node_knows_none() -> None:
    held = RUNNING | {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}
    local = RUNNING | {"podIP": "10.0.0.2", "podIPs": [{"ip": "10.0.0.2"}]}
    assert patch_of(held, local) == {"podIP": "10.0.0.2", "podIPs": [{"$patch": "replace"}, {"ip": "10.0.0.2"}]}
    assert patch_of(held, RUNNING) == {}


@pytest.mark.parametrize("state", ["running", "terminated"], ids=["runs", "may run, for all that the runtime knows"])
def test_a_terminal_phase_waits_until_nothing_runs(state: str) -> None:
    ends = status("Failed", container(state), container("terminated", "b"), reason="DeadlineExceeded", message="m")
    held = RUNNING | {"containerStatuses": ends["containerStatuses"], "reason": "Old"}
    withheld = patch_of(held, ends, stopped=False)
    assert withheld.keys() == {"conditions"}
    assert withheld["conditions"][0]["status"] == "False"
    told = patch_of(held, ends)
    assert (told["phase"], told["reason"], told["message"]) == ("Failed", "DeadlineExceeded", "m")


def test_a_terminal_phase_is_never_left_and_such_a_pod_is_not_ready() -> None:
    held = FAILED | {"reason": "Evicted", "message": "m", "conditions": [condition("Ready", "True")]}
    patch = patch_of(held, RUNNING | {"reason": "Other"})
    assert not patch.keys() & {"phase", "reason", "message"}
    (ready,) = patch["conditions"]
    assert (ready["status"], ready["reason"]) == ("False", "PodFailed")
    assert ready["lastTransitionTime"] == "1970-01-01T00:01:00Z"
    after = held | {"conditions": [ready], "containerStatuses": RUNNING["containerStatuses"]}
    assert patch_of(after, RUNNING) == {}


def test_a_disruption_is_told_only_with_the_end_that_it_caused() -> None:
    disruption = condition("DisruptionTarget", "True", reason="TerminationByKubelet")
    ends = FAILED | {"conditions": [*FAILED["conditions"], disruption]}
    assert disruption in patch_of(RUNNING, ends)["conditions"]
    assert patch_of(FAILED, ends) == {}
    assert disruption not in patch_of(RUNNING, ends, stopped=False)["conditions"]


def test_a_pod_that_was_refused_loses_the_conditions_and_gets_a_start_time() -> None:
    held = PENDING | {"conditions": [condition("PodScheduled", "True")]}
    assert patch_of(held, {"phase": "Failed", "reason": "OutOfcpu", "message": "m", "qosClass": "BestEffort"}) == {
        "phase": "Failed", "reason": "OutOfcpu", "message": "m", "startTime": "1970-01-01T00:01:00Z",
        "conditions": [{"$patch": "delete", "type": "PodScheduled"}],
    }  # fmt: skip


def test_container_statuses_are_taken_away_with_the_rest() -> None:
    assert patch_of(RUNNING, status("Running"))["containerStatuses"] is None


def test_the_qos_class_is_the_api_servers() -> None:
    assert patch_of(RUNNING, RUNNING | {"qosClass": "Burstable"}) == {}


ALL = {"restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [9]}}]}
RULE = {
    "restartPolicy": "Never",
    "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}],
}


@pytest.mark.parametrize(
    ("restarts", "exit_code", "leaves"),
    [
        (policy("Always"), 0, True),
        (policy("Never"), 1, False),
        (policy("OnFailure"), 0, False),
        (policy("OnFailure"), 1, True),
        (policy("Never", a={"restartPolicy": "Always"}), 0, True),
        (policy("Always", a=RULE), 1, False),
        (policy("Always", a=RULE), 42, True),
        (policy("Never", b=ALL), 0, True),
        (FREE, 1, True),
    ],
)
def test_a_container_that_has_ended_for_good_stays_so(restarts: Status, exit_code: int, leaves: bool) -> None:
    held = status("Running", container("terminated", exit_code=exit_code), container(name="b"))
    local = status("Running", container(), container(name="b") | {"restartCount": 3})
    told = patch_of(held, local, restarts)["containerStatuses"]
    assert ("running" in told[0]["state"]) is leaves is may_leave(restarts, "a", exit_code)
    assert told[1]["restartCount"] == 3
