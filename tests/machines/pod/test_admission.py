"""Pods that the node refuses (kubelet behaviour, section 2.6)."""

from dataclasses import replace
from typing import Any

import pytest
from tests.machines.pod.builders import POLICY, T0, container, machine, observed, sandbox, status_of, sync_of, syncs
from tests.machines.pod.told import pod

from podherd.machines.pod.events import Wanted, Woke
from podherd.machines.pod.instructions import Instruction, KillContainer, Record
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
