"""In-place resize (kubelet behaviour, sections 3.2 and 6.3)."""

from typing import Any

import pytest
from tests.machines.pod.builders import (
    T0,
    container,
    machine,
    observed,
    plans,
    sandbox,
    status_of,
    sync_of,
    synced,
    syncs,
)
from tests.machines.pod.told import condition, one, pod

from podherd.machines.pod.events import Started, StepFailed, Wanted, Woke
from podherd.machines.pod.instructions import Instruction, Plan, ResizeContainer
from podherd.machines.pod.machine import ShardMachine
from podherd.model.cpu_time import cpu_shares
from podherd.wire.observed import ContainerSeen

MIB = 1 << 20
RESIZE = Plan(sandbox_id="s0", resize=(ResizeContainer("c0", "main"),))
ANEW = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]


def wants(cpu: str, memory: str, **more: Any) -> Wanted:
    amounts = {"cpu": cpu, "memory": memory}
    return Wanted(pod([one("main", resources={"requests": amounts, "limits": amounts}, **more)], source="api"), "api")


def runs(cpu_milli: int, memory: int, **more: Any) -> ContainerSeen:
    given = {"cpu_shares": cpu_shares(cpu_milli), "cpu_period": 100_000, "cpu_quota": cpu_milli * 100}
    return container(resources={**given, "memory_limit": memory} | more)


def running(**more: Any) -> ShardMachine:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wants("500m", "64Mi", **more)))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    assert syncs(see(shard, T0 + 3, runs(500, 64 * MIB))) == []
    return shard


def see(shard: ShardMachine, at: float, *seen: ContainerSeen) -> list[Instruction]:
    return shard.handle(at, observed(at, [sandbox()], seen))


def resources(out: list[Instruction]) -> Any:
    return status_of(out)["containerStatuses"][0]["resources"]["limits"]


def test_a_container_that_runs_is_given_what_its_spec_grants_now() -> None:
    shard = running()
    out = shard.handle(T0 + 9, wants("750m", "128Mi"))
    assert plans(out) == [RESIZE]
    assert condition(status_of(out), "PodResizeInProgress") == ("True", "", "")
    assert resources(out) == {"cpu": "500m", "memory": "64Mi"}
    allocated = status_of(out)["containerStatuses"][0]["allocatedResources"]
    assert allocated == {"cpu": "750m", "memory": "128Mi"}
    shard.handle(T0 + 10, synced(sync_of(out), T0 + 10))
    out = see(shard, T0 + 11, runs(750, 128 * MIB))
    assert syncs(out) == []
    assert resources(out) == {"cpu": "750m", "memory": "128Mi"}
    assert "PodResizeInProgress" not in [each["type"] for each in status_of(out)["conditions"]]


def test_a_resize_that_failed_says_so_and_is_tried_again_after_a_while() -> None:
    shard = running()
    sync = sync_of(shard.handle(T0 + 9, wants("750m", "64Mi")))
    shard.handle(T0 + 10, synced(sync, T0 + 10, StepFailed("resize", "busy")))
    out = see(shard, T0 + 11, runs(500, 64 * MIB))
    assert syncs(out) == []
    assert condition(status_of(out), "PodResizeInProgress") == ("True", "Error", "busy")
    assert plans(shard.handle(T0 + 30, Woke("u1"))) == [RESIZE]


def test_a_runtime_that_tells_other_numbers_than_it_was_told_is_asked_once() -> None:
    shard = running()
    shard.handle(T0 + 10, synced(sync_of(shard.handle(T0 + 9, wants("750m", "64Mi"))), T0 + 10))
    out = see(shard, T0 + 11, runs(751, 64 * MIB))
    assert (syncs(out), resources(out)) == ([], {"cpu": "750m", "memory": "64Mi"})
    assert syncs(shard.handle(T0 + 100, Woke("u1"))) == []


def test_a_container_whose_policy_says_so_is_started_anew() -> None:
    shard = running(resizePolicy=ANEW)
    assert plans(shard.handle(T0 + 8, wants("750m", "64Mi", resizePolicy=ANEW))) == [RESIZE]
    shard = running(resizePolicy=ANEW)
    plan = sync_of(shard.handle(T0 + 9, wants("500m", "128Mi", resizePolicy=ANEW))).plan
    assert [kill.message for kill in plan.kill] == ["Container main resize requires restart"]
    assert ([start.name for start in plan.start], plan.resize) == (["main"], ())


@pytest.mark.parametrize(
    "seen",
    [
        container(),
        runs(500, 64 * MIB, cpu_quota=0, cpu_period=0),
        runs(500, 64 * MIB, cpu_quota=25_000, cpu_period=50_000),
    ],
    ids=["a runtime that tells nothing", "no quotas on this node", "another period"],
)
def test_what_is_as_it_should_be_is_left_alone(seen: ContainerSeen) -> None:
    shard = machine(complete=False)
    see(shard, T0 + 1, seen)
    assert syncs(shard.handle(T0 + 2, wants("500m", "64Mi"))) == []


def test_a_shard_that_begins_anew_finishes_the_resize() -> None:
    shard = machine(complete=False)
    see(shard, T0 + 1, runs(500, 64 * MIB))
    assert plans(shard.handle(T0 + 2, wants("750m", "64Mi"))) == [RESIZE]


@pytest.mark.parametrize("reason", ["Deferred", "Infeasible"])
def test_a_resize_that_is_not_granted_is_a_condition_until_it_is(reason: str) -> None:
    shard, granted = running(), wants("500m", "64Mi")
    out = shard.handle(T0 + 9, Wanted(granted.pod, "api", resize_pending=reason, resize_message="no room"))
    assert condition(status_of(out), "PodResizePending") == ("True", reason, "no room")
    assert syncs(out) == []
    out = shard.handle(T0 + 10, granted)
    assert "PodResizePending" not in [each["type"] for each in status_of(out)["conditions"]]


def silent(**more: Any) -> ShardMachine:
    """A pod that runs in a runtime that does not tell what a container was given."""
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wants("500m", "64Mi", **more)))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    assert syncs(see(shard, T0 + 3, container())) == []
    return shard


def test_a_container_of_a_runtime_that_tells_nothing_is_changed_from_what_it_was_started_with() -> None:
    shard = silent()
    out = shard.handle(T0 + 9, wants("750m", "128Mi"))
    assert plans(out) == [RESIZE]
    assert resources(out) == {"cpu": "500m", "memory": "64Mi"}
    shard.handle(T0 + 10, synced(sync_of(out), T0 + 10))
    out = see(shard, T0 + 11, container())
    assert (syncs(out), resources(out)) == ([], {"cpu": "750m", "memory": "128Mi"})
    assert plans(shard.handle(T0 + 20, wants("500m", "64Mi"))) == [RESIZE]


def test_such_a_container_is_started_anew_where_its_policy_says_so() -> None:
    plan = sync_of(silent(resizePolicy=ANEW).handle(T0 + 9, wants("500m", "128Mi", resizePolicy=ANEW))).plan
    assert ([start.name for start in plan.start], plan.resize) == (["main"], ())


@pytest.mark.parametrize(
    ("told", "ident", "found"),
    [("64Mi", "c0", [RESIZE]), ("128Mi", "c0", []), ("64Mi", "c9", [])],
    ids=["in the middle of it", "after it", "another instance's"],
)
def test_a_shard_that_begins_anew_finishes_the_resize_that_the_api_was_not_told_done(
    told: str, ident: str, found: list[Plan]
) -> None:
    shard, wanted = machine(complete=False), wants("500m", "128Mi")
    amounts, state = {"cpu": "500m", "memory": told}, {"running": {"startedAt": "2027-01-15T08:00:00Z"}}
    had = {"requests": amounts, "limits": amounts}
    known = {"name": "main", "state": state, "containerID": f"x://{ident}", "resources": had}
    wanted.pod.body["status"] = {"containerStatuses": [known]}  # type: ignore[index]
    see(shard, T0 + 1, container())
    assert plans(shard.handle(T0 + 2, wanted)) == found


def test_a_spec_that_changes_while_a_resize_is_under_way_is_given_afterwards() -> None:
    shard = running()
    sync = sync_of(shard.handle(T0 + 9, wants("750m", "64Mi")))
    shard.handle(T0 + 9.5, wants("800m", "64Mi"))
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    assert plans(see(shard, T0 + 11, runs(750, 64 * MIB))) == [RESIZE]
