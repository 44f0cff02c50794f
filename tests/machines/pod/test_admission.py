"""Pods that the node refuses (kubelet behaviour, section 2.6)."""

from dataclasses import replace
from typing import Any

import pytest
from tests.machines.pod.builders import (
    POLICY,
    T0,
    container,
    exited,
    machine,
    observed,
    sandbox,
    status_of,
    sync_of,
    synced,
    syncs,
)
from tests.machines.pod.told import pod

from podherd.machines.pod.events import Wanted, Woke
from podherd.machines.pod.instructions import CancelSync, Instruction, KillContainer, Over, Publish, Record
from podherd.machines.pod.policy import Policy
from podherd.model.pod import Pod
from podherd.wire.desired import Gone

SAYS = 'forbidden sysctl: "kernel.msgmax" not allowlisted'


def setting(name: str, **spec: Any) -> Pod:
    return pod(securityContext={"sysctls": [{"name": name, "value": "1"}]}, **spec)


def events(out: list[Instruction]) -> list[tuple[str, str, str]]:
    return [(each.event.type, each.event.reason, each.event.message) for each in out if isinstance(each, Record)]


def test_a_pod_with_a_forbidden_sysctl_is_refused_once_and_nothing_of_it_is_made() -> None:
    shard = machine()
    out = shard.handle(T0 + 1, Wanted(setting("kernel.msgmax"), "file"))
    assert syncs(out) == []
    assert events(out) == [("Warning", "SysctlForbidden", SAYS)]
    assert status_of(out) == {
        "phase": "Failed",
        "reason": "SysctlForbidden",
        "message": f"Pod was rejected: {SAYS}",
        "qosClass": "BestEffort",
    }
    again = shard.handle(T0 + 100, Woke("u1"))
    assert (syncs(again), events(again)) == ([], [])
    gone = shard.handle(T0 + 101, Gone("u1", "default", "web", "file removed"))
    assert sync_of(gone).plan.clean_up


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("kernel.shm_rmid_forced", POLICY),
        ("kernel.msgmax", replace(POLICY, allowed_unsafe_sysctls=("kernel.msg*",))),
        ("net.ipv4.tcp_keepalive_time", replace(POLICY, kernel=(4, 5))),
    ],
    ids=["safe", "allowed", "safe with this kernel"],
)
def test_what_may_be_set_is_let_in(name: str, policy: Policy) -> None:
    assert sync_of(machine(policy).handle(T0 + 1, Wanted(setting(name), "file"))).plan.make_sandbox == 0


def test_a_refused_pod_that_ran_under_other_rules_is_stopped() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox()], [container()]))
    out = shard.handle(T0 + 2, Wanted(setting("kernel.msgmax"), "file"))
    plan = sync_of(out).plan
    assert plan.kill == (KillContainer("c0", "main", 30, "Stopping container main"),)
    assert plan.stop_sandboxes == ("s0",)
    assert status_of(out)["containerStatuses"][0]["state"].keys() == {"running"}


REFUSED = ("OutOfcpu", "Node didn't have enough resource: cpu, requested: 2, used: 1, capacity: 2")


def test_a_pod_that_the_nodes_admission_refuses_fails_once_and_holds_nothing() -> None:
    shard, wanted = machine(), Wanted(pod(metadata={"generation": 1}), "api", *REFUSED)
    out = shard.handle(T0 + 1, wanted)
    assert (syncs(out), events(out)) == ([], [("Warning", *REFUSED)])
    status = status_of(out)
    told = {key: status.get(key) for key in ("phase", "reason", "message", "containerStatuses")}
    message = f"Pod was rejected: {REFUSED[1]}"
    assert told == {"phase": "Failed", "reason": "OutOfcpu", "message": message, "containerStatuses": None}
    assert [each.finished for each in out if isinstance(each, Publish)] == [True]
    assert Over("u1") in out
    again = [*shard.handle(T0 + 2, wanted), *shard.handle(T0 + 3, Wanted(wanted.pod, "api"))]
    assert again == []


def test_a_pod_that_runs_and_is_refused_is_stopped() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, Wanted(pod(source="api"), "api")))
    out = shard.handle(T0 + 2, Wanted(pod(source="api"), "api", *REFUSED))
    assert CancelSync("u1", sync.plan_id) in out
    shard.handle(T0 + 3, synced(sync, T0 + 3, cancelled=True))
    out = shard.handle(T0 + 4, observed(T0 + 4, [sandbox()], [container()]))
    assert [kill.id for kill in sync_of(out).plan.kill] == ["c0"]
    assert status_of(out)["reason"] == "OutOfcpu"


def test_what_the_api_knows_as_refused_is_told_without_containers_and_without_a_second_event() -> None:
    known = pod(source="api")
    known.body["status"] = {"phase": "Failed", "reason": "OutOfcpu", "message": "no"}  # type: ignore[index]
    out = machine().handle(T0 + 1, Wanted(known, "api", *REFUSED))
    assert events(out) == []
    assert (status_of(out)["reason"], status_of(out).get("containerStatuses")) == ("OutOfcpu", None)


def test_a_static_pod_that_runs_already_is_not_refused_by_who_has_begun_anew() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox()], [container()]))
    out = shard.handle(T0 + 2, Wanted(pod(source="file"), "file", *REFUSED))
    assert (syncs(out), events(out), status_of(out)["phase"]) == ([], [], "Running")
    out = shard.handle(T0 + 9, observed(T0 + 9, [sandbox()], [exited("c0", T0 + 8)]))
    assert [start.name for start in sync_of(out).plan.start] == ["main"]
