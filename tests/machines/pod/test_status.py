"""Phase, conditions and container statuses (kubelet behaviour, sections 6.1 to 6.3)."""

from dataclasses import replace
from typing import Any

import pytest
from tests.machines.pod.builders import (
    POLICY,
    READY,
    T0,
    container,
    exited,
    machine,
    observed,
    sandbox,
    status_of,
    sync_of,
    synced,
    wanted,
)

from podherd.machines.pod.events import Started
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import Policy
from podherd.wire.observed import ContainerSeen, SandboxSeen

AT_1 = "2027-01-15T08:00:01Z"
AT_9 = "2027-01-15T08:00:09Z"


def status(*containers: ContainerSeen, box: SandboxSeen | None = None, **changes: object) -> Any:
    """The status of a pod of which this is seen at T0 + 9, wanted at T0 + 1."""
    return status_of(begun(**changes).handle(T0 + 9, observed(T0 + 9, [box or sandbox()], containers)))


def begun(policy: Policy | None = None, **changes: object) -> ShardMachine:
    shard = machine(policy) if policy else machine()
    sync = sync_of(shard.handle(T0 + 1, wanted(**changes)))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    return shard


def conditions(of: Any) -> dict[str, tuple[str, str, str, str]]:
    return {
        each["type"]: (each["status"], each.get("reason", ""), each.get("message", ""), each["lastTransitionTime"])
        for each in of["conditions"]
    }


def test_a_pod_that_was_just_wanted() -> None:
    out = status_of(machine().handle(T0 + 1, wanted(containers=("b", "a"))))
    assert (out["phase"], out["qosClass"], out["startTime"]) == ("Pending", "BestEffort", AT_1)
    assert (out["hostIP"], out["hostIPs"]) == ("192.0.2.1", [{"ip": "192.0.2.1"}])
    assert "podIP" not in out
    unready = ("False", "ContainersNotReady", "containers with unready status: [b a]", AT_1)
    assert conditions(out) == {
        "PodReadyToStartContainers": ("False", "PodSandboxNotReady", "no pod sandbox exists", AT_1),
        "Initialized": ("True", "", "", AT_1),
        "Ready": unready,
        "ContainersReady": unready,
        "PodScheduled": ("True", "", "", AT_1),
    }
    assert out["containerStatuses"] == [
        {
            "name": name,
            "state": {"waiting": {"reason": "ContainerCreating"}},
            "lastState": {},
            "ready": False,
            "started": False,
            "restartCount": 0,
            "image": "reg.test/app:1",
            "imageID": "",
        }
        for name in ("a", "b")
    ]


def test_a_running_pod_with_an_earlier_crash() -> None:
    now = container("c1", attempt=1, created_at=T0 + 5)
    out = status(now, exited("c0", T0 + 4, 7, message="boom"))
    assert (out["phase"], out["podIP"], out["podIPs"]) == ("Running", "10.0.0.1", [{"ip": "10.0.0.1"}])
    assert out["containerStatuses"] == [
        {
            "name": "main",
            "state": {"running": {"startedAt": "2027-01-15T08:00:05Z"}},
            "lastState": {
                "terminated": {
                    "exitCode": 7,
                    "reason": "Error",
                    "message": "boom",
                    "startedAt": "2027-01-15T08:00:00Z",
                    "finishedAt": "2027-01-15T08:00:04Z",
                    "containerID": "containerd://c0",
                }
            },
            "ready": True,
            "started": True,
            "restartCount": 1,
            "image": "reg.test/app:1",
            "imageID": "sha256:1",
            "containerID": "containerd://c1",
            "resources": {},
        }
    ]


def test_a_transition_time_changes_only_with_its_status() -> None:
    told = conditions(status(container()))
    assert told["Initialized"][3] == told["PodScheduled"][3] == AT_1
    assert told["Ready"] == told["ContainersReady"] == told["PodReadyToStartContainers"] == ("True", "", "", AT_9)


def test_a_changed_reason_alone_keeps_the_transition_time() -> None:
    shard = begun(containers=("main", "side"))
    shard.handle(T0 + 5, observed(T0 + 5, [sandbox()], [container()]))
    told = conditions(next(iter(shard.published())).status)
    assert told["Ready"] == ("False", "ContainersNotReady", "containers with unready status: [side]", AT_1)


def test_pending_while_a_container_waits_for_its_first_run() -> None:
    out = status(container(), containers=("main", "side"))
    assert out["phase"] == "Pending"
    assert conditions(out)["Ready"][2] == "containers with unready status: [side]"


def test_succeeded_and_failed_pods_are_not_ready_for_that_reason() -> None:
    done = conditions(status(exited(code=0), restart="Never"))
    assert done["Ready"][:2] == done["ContainersReady"][:2] == ("False", "PodCompleted")
    assert done["Initialized"][:2] == ("True", "PodCompleted")
    assert conditions(status(exited(code=1), restart="Never"))["Ready"][:2] == ("False", "PodFailed")


def test_one_failure_makes_a_finished_pod_failed() -> None:
    both = [exited("a0", code=0, name="a"), exited("b0", code=2, name="b")]
    assert status(*both, containers=("a", "b"), restart="Never")["phase"] == "Failed"


@pytest.mark.parametrize(
    ("hosts", "seen", "told"),
    [
        (("192.0.2.1",), ("fd00::1", "10.0.0.9", "10.0.0.10"), ["10.0.0.9", "fd00::1"]),
        (("2001:db8::1", "192.0.2.1"), ("10.0.0.9", "fd00::1"), ["fd00::1", "10.0.0.9"]),
        ((), ("fd00::1", "10.0.0.9"), ["10.0.0.9", "fd00::1"]),
        (("192.0.2.1",), ("fd00::1",), ["fd00::1"]),
        (("192.0.2.1",), ("", "fd00::1"), ["fd00::1"]),
    ],
)
def test_one_address_per_family_the_node_s_primary_one_leads(
    hosts: tuple[str, ...], seen: tuple[str, ...], told: list[str]
) -> None:
    shard = begun(Policy("n1", host_ips=hosts))
    out = status_of(shard.handle(T0 + 9, observed(T0 + 9, [sandbox(ips=seen)], [container()])))
    assert (out["podIP"], out["podIPs"]) == (told[0], [{"ip": ip} for ip in told])


def test_without_an_address_there_is_no_pod_ip() -> None:
    assert not {"podIP", "podIPs"} & status(container(), box=sandbox(ips=("",))).keys()


def test_a_host_network_pod_has_the_node_s_address() -> None:
    out = status(container(), box=sandbox(host_network=True, ips=()), host_network=True)
    assert out["podIP"] == out["hostIP"] == "192.0.2.1"


def test_the_restart_count_is_the_greater_of_annotation_and_attempt() -> None:
    seen = container(attempt=3)
    seen.annotations["io.kubernetes.container.restartCount"] = "8"
    assert status(seen)["containerStatuses"][0]["restartCount"] == 8


def test_the_generation_of_an_api_pod_stands_on_status_and_conditions() -> None:
    out = status(container(), source="api", metadata={"generation": 4})
    assert out["observedGeneration"] == 4
    assert {each["observedGeneration"] for each in out["conditions"]} == {4}


def test_the_runtime_s_name_leads_the_container_ids() -> None:
    shard = begun(Policy("n1", runtime_name="cri-o"))
    out = status_of(shard.handle(T0 + 9, observed(T0 + 9, [sandbox()], [container()])))
    assert out["containerStatuses"][0]["containerID"] == "cri-o://c0"
    assert "hostIP" not in out


def test_what_another_policy_changes_in_statuses_is_told_with_the_next_event_whatever_it_is() -> None:
    shard = begun(POLICY)
    shard.handle(T0 + 9, observed(T0 + 9, [sandbox()], [container()]))
    shard.use(replace(POLICY, host_ips=("192.0.2.7",)))
    assert status_of(shard.handle(T0 + 10, READY))["hostIP"] == "192.0.2.7"
    shard.use(replace(POLICY, host_ips=("192.0.2.7",)))
    assert shard.handle(T0 + 11, READY) == []


def test_an_exit_without_reason_or_times_is_still_told() -> None:
    out = status(exited(code=0, at=0.0, reason="", started_at=0.0), restart="Never")
    ended = out["containerStatuses"][0]["state"]["terminated"]
    assert (ended["reason"], ended["startedAt"], ended["finishedAt"]) == ("Completed", None, None)
