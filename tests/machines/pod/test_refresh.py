"""Objects that a pod refers to change: volumes' files are written anew, what failed for want of them is tried."""

from typing import Any

import pytest
from tests.machines.pod.builders import T0, container, machine, observed, plans, sandbox, sync_of, synced, syncs
from tests.machines.pod.told import pod

from podherd.machines.pod.events import (
    NodeVolumesChanged,
    ObjectsChanged,
    RepublishDue,
    Started,
    StartFailed,
    StepFailed,
    Wanted,
    Woke,
)
from podherd.machines.pod.instructions import Plan
from podherd.machines.pod.machine import ShardMachine

CONTENT = {"volumes": [{"name": "conf", "configMap": {"name": "web"}}]}
PLAIN = {"volumes": [{"name": "data", "emptyDir": {}}]}
REFRESH = Plan(refresh=True)
CHANGED = ObjectsChanged("u1")


def running(labels: dict[str, str] | None = None, **spec: Any) -> ShardMachine:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wants(labels, **spec)))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    shard.handle(T0 + 3, observed(T0 + 3, [sandbox()], [container()]))
    return shard


def wants(labels: dict[str, str] | None = None, **spec: Any) -> Wanted:
    return Wanted(pod(metadata={"labels": labels or {}}, **(spec or CONTENT)), "api")


def test_files_are_written_anew_each_time_and_no_container_is_touched() -> None:
    shard = running()
    for at in (9, 10, 11):
        out = shard.handle(T0 + at, CHANGED)
        assert plans(out) == [REFRESH]
        assert syncs(shard.handle(T0 + at + 0.5, synced(sync_of(out), T0 + at + 0.5, did=False))) == []


def test_a_change_amid_a_refresh_is_followed_by_another() -> None:
    shard = running()
    sync = sync_of(shard.handle(T0 + 9, CHANGED))
    assert syncs(shard.handle(T0 + 9.1, CHANGED)) == []
    assert plans(shard.handle(T0 + 9.2, synced(sync, T0 + 9.2, did=False))) == [REFRESH]


def test_a_refresh_that_failed_is_tried_again_and_holds_nothing_else_up() -> None:
    shard = running()
    sync = sync_of(shard.handle(T0 + 9, CHANGED))
    failed = StepFailed("volumes", 'configmap "web" not found')
    assert syncs(shard.handle(T0 + 10, synced(sync, T0 + 10, failed, did=False))) == []
    ended = container(state="exited", finished_at=T0 + 11, exit_code=1)
    start = sync_of(shard.handle(T0 + 12, observed(T0 + 12, [sandbox()], [ended])))
    assert [each.name for each in start.plan.start] == ["main"]
    shard = running()
    shard.handle(T0 + 10, synced(sync_of(shard.handle(T0 + 9, CHANGED)), T0 + 10, failed, did=False))
    assert plans(shard.handle(T0 + 30, Woke("u1"))) == [REFRESH]


def test_a_pod_without_such_volumes_or_that_is_not_here_has_nothing_to_refresh() -> None:
    assert syncs(running(**PLAIN).handle(T0 + 9, CHANGED)) == []
    assert machine().handle(T0 + 9, CHANGED) == []


def test_new_labels_are_written_into_volumes_that_show_them() -> None:
    shard = running()
    assert plans(shard.handle(T0 + 9, wants({"a": "b"}))) == [REFRESH]
    assert syncs(running(**PLAIN).handle(T0 + 9, wants({"a": "b"}, **PLAIN))) == []


@pytest.mark.parametrize(("reason", "tried"), [("CreateContainerConfigError", True), ("CreateContainerError", False)])
def test_a_container_that_wanted_for_an_object_is_started_at_once(reason: str, tried: bool) -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wants(**PLAIN)))
    shard.handle(T0 + 2, synced(sync, T0 + 2, StartFailed("main", reason, 'secret "s" not found')))
    assert syncs(shard.handle(T0 + 3, observed(T0 + 3, [sandbox()]))) == []
    assert bool(syncs(shard.handle(T0 + 4, CHANGED))) == tried


@pytest.mark.parametrize(("step", "tried"), [("volumes", True), ("dirs", False)])
def test_volumes_that_wanted_for_an_object_are_made_ready_at_once(step: str, tried: bool) -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wants()))
    assert syncs(shard.handle(T0 + 2, synced(sync, T0 + 2, StepFailed(step, "no"), did=False))) == []
    assert bool(syncs(shard.handle(T0 + 3, CHANGED))) == tried


def test_an_object_that_came_while_its_absence_failed_the_start_is_not_missed() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wants()))
    shard.handle(T0 + 1.5, CHANGED)
    out = shard.handle(T0 + 2, synced(sync, T0 + 2, StepFailed("volumes", "no"), did=False))
    assert sync_of(out).plan.make_sandbox == 0


@pytest.mark.parametrize(("step", "tried"), [("volumes", 1), ("cgroup", 0)])
def test_what_waits_for_a_driver_or_an_attached_volume_is_tried_as_soon_as_there_are_others(
    step: str, tried: int
) -> None:
    """Whether they come during the sync that misses them, or after it."""
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wants(**PLAIN)))
    assert syncs(shard.handle(T0 + 1.5, NodeVolumesChanged())) == []
    failed = StepFailed(step, "not attached")
    out = shard.handle(T0 + 2, synced(sync, T0 + 2, failed, did=False))
    assert len(syncs(out)) == tried
    for again in syncs(out):
        assert syncs(shard.handle(T0 + 2.1, synced(again, T0 + 2.1, failed, did=False))) == []
    assert len(syncs(shard.handle(T0 + 2.2, NodeVolumesChanged()))) == tried


def test_volumes_are_published_again_when_that_is_due_and_no_container_is_touched() -> None:
    assert plans(running(**PLAIN).handle(T0 + 9, RepublishDue("u1"))) == [REFRESH]
    assert machine().handle(T0 + 9, RepublishDue("u1")) == []
