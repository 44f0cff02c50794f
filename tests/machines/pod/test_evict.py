"""Pods that end for the node's sake: eviction, preemption, shutdown (kubelet behaviour, sections 2.3, 8.5 and 8.6)."""

from dataclasses import replace
from typing import Any

import pytest
from tests.machines.pod.builders import (
    RELEASE,
    T0,
    exited,
    machine,
    observed,
    plans,
    sandbox,
    status_of,
    sync_of,
    synced,
    syncs,
)
from tests.machines.pod.test_api_life import DELETED, GONE, api, finished, killed, running
from tests.machines.pod.test_end import running as running_static
from tests.machines.pod.test_end import wanted

from podherd.machines.pod.instructions import Forget, Instruction, Over, Publish, Record
from podherd.machines.pod.machine import ShardMachine
from podherd.wire.evict import Evict

ORDER = Evict("u1", "default", "web", "Evicted", "The node was low on resource: memory. ", 1, "The node was low")


def conditions(out: list[Instruction], kind: str = "DisruptionTarget") -> list[tuple[str, str, str]]:
    given = status_of(out)["conditions"]
    return [(each["status"], each["reason"], each["message"]) for each in given if each["type"] == kind]


def evicted(shard: ShardMachine) -> list[Instruction]:
    out = killed(shard, ORDER)
    shard.handle(T0 + 12, synced(sync_of(out), T0 + 12, did=False))
    return out


def test_the_pod_fails_with_the_reason_once_nothing_of_it_runs() -> None:
    shard = running()
    out = shard.handle(T0 + 9, ORDER)
    assert [kill.grace_s for kill in sync_of(out).plan.kill] == [1]
    assert [each for each in out if isinstance(each, Publish)] == []
    shard.handle(T0 + 10, synced(sync_of(out), T0 + 10))
    out = shard.handle(T0 + 11, observed(T0 + 11, [sandbox(ready=False)], [exited("c0", T0 + 10, 0)]))
    status = status_of(out)
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", ORDER.message)
    assert conditions(out) == [("True", "TerminationByKubelet", "The node was low")]
    assert Over("u1") in out
    assert plans(out) == [RELEASE]
    out = shard.handle(T0 + 12, synced(sync_of(out), T0 + 12, did=False))
    assert (finished(out), [each.deleting for each in out if isinstance(each, Publish)]) == ([True], [False])


@pytest.mark.parametrize(("reason", "told"), [("Evicted", 1), ("Preempting", 1), ("Terminated", 0)])
def test_evictions_and_preemptions_are_told_by_one_warning(reason: str, told: int) -> None:
    shard, order = running(), replace(ORDER, reason=reason)
    out = [*shard.handle(T0 + 9, order), *shard.handle(T0 + 9.1, order)]
    events = [(each.event.type, each.event.reason) for each in out if isinstance(each, Record)]
    assert events == [("Warning", reason)] * told


@pytest.mark.parametrize(("limit", "grace"), [(-1, 30), (0, 1), (5, 5), (90, 30)])
def test_the_grace_is_the_pods_own_and_at_most_what_the_order_says(limit: int, grace: int) -> None:
    out = running().handle(T0 + 9, replace(ORDER, grace_s=limit))
    assert [kill.grace_s for kill in sync_of(out).plan.kill] == [grace]


def test_an_order_shortens_the_end_of_a_deleted_pod() -> None:
    shard = running()
    sync = sync_of(shard.handle(T0 + 9, api(**DELETED)))
    assert [type(each).__name__ for each in shard.handle(T0 + 9.5, ORDER)][-1] == "CancelSync"
    assert sync.plan.kill[0].grace_s == 5


def test_it_does_not_run_again_however_often_its_source_wants_it() -> None:
    shard = running()
    evicted(shard)
    for at in (20, 30):
        told = {"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "R"}]}
        out = shard.handle(T0 + at, api(told, labels={"again": str(at)}))
        assert syncs(out) == []
    (publish,) = shard.published()
    kinds = [each["type"] for each in publish.status["conditions"]]
    assert kinds.count("DisruptionTarget") == 1


def test_deleting_it_afterwards_ends_finished_and_removed() -> None:
    shard = running()
    evicted(shard)
    out = shard.handle(T0 + 20, api({"phase": "Failed"}, **DELETED))
    assert (finished(out), syncs(out)) == ([True], [])
    assert sync_of(shard.handle(T0 + 21, GONE)).plan.clean_up


def test_one_that_is_over_is_left_alone_and_told_to_be_over_once_more() -> None:
    shard = running()
    evicted(shard)
    assert shard.handle(T0 + 20, ORDER) == [Over("u1")]


def test_one_that_is_not_here_is_left_alone() -> None:
    assert running().handle(T0 + 9, replace(ORDER, uid="u2")) == []


def test_a_static_pod_comes_back_only_when_its_source_gives_it_again() -> None:
    shard = running_static()
    out = evicted(shard)
    assert (status_of(out)["phase"], status_of(out)["reason"]) == ("Failed", "Evicted")
    assert syncs(shard.handle(T0 + 20, wanted(metadata={"labels": {"a": "b"}}))) == []
    removal = sync_of(shard.handle(T0 + 21, GONE))
    shard.handle(T0 + 22, wanted())
    out = shard.handle(T0 + 23, synced(removal, T0 + 23))
    assert Forget("u1", "default", "web") in out
    assert sync_of(out).plan.make_sandbox == 0


def test_a_condition_of_another_owner_gives_way() -> None:
    other: dict[str, Any] = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    shard = running()
    shard.handle(T0 + 8, api({"conditions": [other]}))
    assert conditions(evicted(shard)) == [("True", "TerminationByKubelet", "The node was low")]


def test_a_pod_counts_as_active_until_nothing_of_it_runs_or_is_mounted() -> None:
    shard = running()
    assert [*shard.active()] == [("u1", "default", "web", 0)]
    out = shard.handle(T0 + 9, ORDER)
    shard.handle(T0 + 10, synced(sync_of(out), T0 + 10))
    out = shard.handle(T0 + 11, observed(T0 + 11, [sandbox(ready=False)], [exited("c0", T0 + 10, 0)]))
    assert len([*shard.active()]) == 1
    shard.handle(T0 + 12, synced(sync_of(out), T0 + 12, did=False))
    assert [*shard.active()] == []


def test_a_shard_that_begins_anew_before_the_api_server_knows_does_not_start_it_again() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox(ready=False)], [exited("c0", T0, 0)]))
    out = shard.handle(T0 + 2, api({"phase": "Running"}), ORDER)
    assert (status_of(out)["phase"], status_of(out)["reason"]) == ("Failed", "Evicted")
    assert all(each.plan.make_sandbox is None and not each.plan.start for each in syncs(out))
