"""When a pod gets a new sandbox, and what goes with it (kubelet behaviour, section 3.1)."""

import pytest
from tests.machines.pod.builders import (
    READY,
    T0,
    container,
    exited,
    machine,
    observed,
    pod,
    sandbox,
    status_of,
    sync_of,
    synced,
    syncs,
    wanted,
)

from podherd.machines.pod.events import RuntimeBack, SandboxFailed, Started, Woke
from podherd.machines.pod.instructions import KillContainer, Plan, Record, StartContainer, WakeAt
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import spread
from podherd.machines.pod.sandbox import SandboxNeed, sandbox_need
from podherd.wire.node import RuntimeState
from podherd.wire.observed import SandboxSeen

NO_NETWORK = RuntimeState(True, False, "cni config uninitialized", "cgroupfs")


@pytest.mark.parametrize(
    ("host_network", "seen", "why"),
    [
        (False, [], "no pod sandbox exists"),
        (
            False,
            [sandbox("s1", 1), sandbox("s0", 0)],
            "multiple pod sandboxes are ready and need to be reconciled",
        ),
        (False, [sandbox(ready=False)], "pod sandbox is not ready"),
        (True, [sandbox()], "network namespace mode changed and sandbox needs to be recreated"),
        (False, [sandbox(host_network=True)], "network namespace mode changed and sandbox needs to be recreated"),
        (False, [sandbox(ips=("",))], "pod sandbox has no IP address"),
        (False, [sandbox(ips=())], ""),
        (True, [sandbox(host_network=True, ips=())], ""),
        (False, [sandbox("s1", 1), sandbox("s0", 0, ready=False)], ""),
    ],
)
def test_the_newest_sandbox_serves_or_the_reason_why_not(host_network: bool, seen: list[SandboxSeen], why: str) -> None:
    need = sandbox_need(pod(host_network=host_network), seen)
    assert need.why == why
    assert need == (SandboxNeed(why, seen[0].id, seen[0].attempt + 1) if seen else SandboxNeed(why, "", 0))


def adopted(restart: str = "Always") -> ShardMachine:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted(restart=restart)))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    shard.handle(T0 + 3, observed(T0 + 3, [sandbox()], [container()]))
    return shard


def test_a_dead_sandbox_is_stopped_and_followed_by_the_next_attempt() -> None:
    plan = sync_of(adopted().handle(T0 + 9, observed(T0 + 9, [sandbox(ready=False)], [exited("c0", T0 + 8)]))).plan
    assert plan == Plan(stop_sandboxes=("s0",), make_sandbox=1, start=(StartContainer("main", 1),))


def test_what_still_runs_in_a_dead_sandbox_is_killed_first() -> None:
    plan = sync_of(adopted().handle(T0 + 9, observed(T0 + 9, [sandbox(ready=False)], [container()]))).plan
    assert plan.kill == (KillContainer("c0", "main", 30, "Stopping container main"),)
    assert (plan.make_sandbox, plan.start) == (1, (StartContainer("main", 1),))


def test_two_ready_sandboxes_are_both_stopped() -> None:
    plan = sync_of(adopted().handle(T0 + 9, observed(T0 + 9, [sandbox("s1", 1), sandbox()], [container()]))).plan
    assert (plan.stop_sandboxes, plan.make_sandbox) == (("s1", "s0"), 2)


def test_never_makes_no_second_sandbox_once_a_container_ran() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox(ready=False)], [container(state="created")]))
    assert syncs(shard.handle(T0 + 2, wanted(restart="Never"))) == []


def test_never_makes_a_second_sandbox_while_nothing_ran() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox(ready=False)]))
    assert sync_of(shard.handle(T0 + 2, wanted(restart="Never"))).plan.make_sandbox == 1


def test_on_failure_starts_only_what_has_not_succeeded_in_the_new_sandbox() -> None:
    shard = machine(complete=False)
    dead = [exited("a0", T0, 0, name="a"), exited("b0", T0, 9, name="b")]
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox(ready=False)], dead))
    plan = sync_of(shard.handle(T0 + 2, wanted(containers=("a", "b"), restart="OnFailure"))).plan
    assert (plan.make_sandbox, plan.start) == (1, (StartContainer("b", 1),))


def test_old_sandboxes_go_once_they_hold_no_kept_container() -> None:
    old = [sandbox("s2", 2), sandbox("s1", 1, ready=False), sandbox("s0", 0, ready=False)]
    seen = [
        container("c2", sandbox_id="s2", attempt=2, created_at=T0 + 2),
        exited("c1", sandbox_id="s1", created_at=T0 + 1),
        exited("c0"),
    ]
    plan = sync_of(adopted().handle(T0 + 9, observed(T0 + 9, old, seen))).plan
    assert plan == Plan(remove_containers=("c0",), remove_sandboxes=("s0",), sandbox_id="s2")


def test_a_failed_sandbox_is_tried_again_after_ten_to_fifteen_seconds() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, SandboxFailed("no space")))
    out = shard.handle(T0 + 3, observed(T0 + 3))
    assert syncs(out) == []
    due = T0 + 2 + 10 * spread("u1")
    assert out[-1] == WakeAt("u1", due)
    assert sync_of(shard.handle(due, Woke("u1"))).plan.make_sandbox == 0


def test_what_failed_is_tried_at_once_when_the_runtime_is_back() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, SandboxFailed("connection refused")))
    shard.handle(T0 + 3, observed(T0 + 3))
    assert sync_of(shard.handle(T0 + 4, RuntimeBack())).plan.make_sandbox == 0


def test_a_runtime_that_is_back_starts_nothing_where_nothing_failed() -> None:
    shard = adopted()
    shard.handle(T0 + 9, observed(T0 + 9, [sandbox()], [container()]))
    assert shard.handle(T0 + 10, RuntimeBack()) == []


def test_a_sandbox_that_came_up_after_all_is_used_at_once() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, SandboxFailed("deadline exceeded")))
    plan = sync_of(shard.handle(T0 + 3, observed(T0 + 3, [sandbox()]))).plan
    assert plan == Plan(sandbox_id="s0", start=(StartContainer("main", 0),))


def test_without_a_network_no_sandbox_is_made_and_the_reason_is_told_once() -> None:
    shard = machine()
    shard.handle(T0 + 1, NO_NETWORK)
    out = shard.handle(T0 + 2, wanted())
    assert syncs(out) == []
    events = [each.event for each in out if isinstance(each, Record)]
    assert [(e.reason, e.message) for e in events] == [
        ("NetworkNotReady", "network is not ready: cni config uninitialized")
    ]
    assert [type(each) for each in shard.handle(T0 + 100, Woke("u1"))] == [WakeAt]
    assert sync_of(shard.handle(T0 + 101, READY)).plan.make_sandbox == 0


def test_without_a_network_host_network_pods_start_and_running_pods_restart() -> None:
    shard = adopted()
    shard.handle(T0 + 4, NO_NETWORK)
    assert sync_of(shard.handle(T0 + 5, wanted(uid="u2", name="other", host_network=True))).plan.make_sandbox == 0
    assert sync_of(shard.handle(T0 + 9, observed(T0 + 9, [sandbox()], [exited("c0", T0 + 8)]))).plan.start


def test_the_address_of_a_stopped_sandbox_stays_in_the_status() -> None:
    shard = adopted(restart="Never")
    out = shard.handle(T0 + 9, observed(T0 + 9, [sandbox(ready=False, ips=())], [exited("c0", T0 + 8, 0)]))
    assert status_of(out)["podIP"] == "10.0.0.1"
