"""API pods: ended, released, finished, kept; what the API knows outlives shard and runtime (2.5, 6.5, 6.6, 15)."""

from typing import Any

import pytest
from tests.machines.pod.builders import (
    READY,
    RELEASE,
    T0,
    container,
    exited,
    machine,
    observed,
    plans,
    pod,
    sandbox,
    status_of,
    sync_of,
    synced,
    syncs,
)

from podherd.machines.pod.events import LeftBehind, Started, StepFailed, Wanted, Woke
from podherd.machines.pod.instructions import Forget, Instruction, Over, Publish
from podherd.machines.pod.machine import ShardMachine
from podherd.model.pod import Pod
from podherd.model.status import rfc3339
from podherd.wire.desired import Gone
from podherd.wire.observed import ObservedRoster

GONE = Gone("u1", "default", "web", "deleted")
DELETED = {"deletionTimestamp": "2027-01-15T08:00:09Z", "deletionGracePeriodSeconds": 5}
RAN = {"running": {"startedAt": "2027-01-15T08:00:00Z"}}


def api(status: dict[str, Any] | None = None, restart: str = "Always", **metadata: Any) -> Wanted:
    made: Pod = pod(source="api", restart=restart, metadata=metadata)
    made.body["status"] = status or {}  # type: ignore[index]
    return Wanted(made, "api")


def known(state: dict[str, Any], count: int = 0, last: dict[str, Any] | None = None) -> dict[str, Any]:
    """A container status as the API server has it."""
    return {"name": "main", "state": state, "lastState": last or {}, "restartCount": count, "containerID": "cri://c0"}


def ended(code: int, reason: str = "Error") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "finishedAt": "2027-01-15T08:00:05Z"}}


def running(**metadata: Any) -> ShardMachine:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, api(**metadata)))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    shard.handle(T0 + 3, observed(T0 + 3, [sandbox()], [container()]))
    return shard


def finished(out: list[Instruction]) -> list[bool]:
    return [each.finished for each in out if isinstance(each, Publish)]


def main_of(out: list[Instruction]) -> dict[str, Any]:
    found: dict[str, Any] = status_of(out)["containerStatuses"][0]
    return found


def killed(shard: ShardMachine, *events: Any) -> list[Instruction]:
    """What is said once the kill is done and seen."""
    sync = sync_of(shard.handle(T0 + 9, *events))
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    return shard.handle(T0 + 11, observed(T0 + 11, [sandbox(ready=False)], [exited("c0", T0 + 10, 143)]))


def test_a_deleted_pod_is_finished_once_it_is_stopped_and_released() -> None:
    shard = running()
    out = killed(shard, api(**DELETED))
    assert (plans(out), finished(out)) == ([RELEASE], [False])
    assert Over("u1") in out
    assert status_of(out)["phase"] == "Failed"
    out = shard.handle(T0 + 12, synced(sync_of(out), T0 + 12, did=False))
    assert (finished(out), syncs(out)) == ([True], [])
    assert list(shard.over()) == ["u1"]


def test_a_volume_that_cannot_be_unmounted_holds_the_end_up_and_is_tried_again() -> None:
    shard = running()
    release = sync_of(killed(shard, api(**DELETED)))
    out = shard.handle(T0 + 12, synced(release, T0 + 12, StepFailed("release", "target is busy"), did=False))
    assert (finished(out), syncs(out)) == ([], [])
    assert plans(shard.handle(T0 + 30, Woke("u1"))) == [RELEASE]


@pytest.mark.parametrize("state", ["running", "unknown"])
def test_that_it_has_failed_may_be_told_once_nothing_runs(state: str) -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox()], [container(state=state)]))
    out = shard.handle(T0 + 2, Wanted(api().pod, "api", "OutOfcpu", "no room"))
    assert [(each.status["phase"], each.stopped) for each in out if isinstance(each, Publish)] == [("Failed", False)]
    shard.handle(T0 + 3, synced(sync_of(out), T0 + 3))
    out = shard.handle(T0 + 4, observed(T0 + 4, [sandbox(ready=False)], [exited()]))
    assert [(each.status["phase"], each.stopped) for each in out if isinstance(each, Publish)] == [("Failed", True)]


def test_containers_and_records_stay_until_the_api_object_is_gone() -> None:
    shard = running()
    shard.handle(T0 + 12, synced(sync_of(killed(shard, api(**DELETED))), T0 + 12, did=False))
    removal = sync_of(shard.handle(T0 + 20, GONE))
    assert (removal.plan.remove_containers, removal.plan.remove_sandboxes) == (("c0",), ("s0",))
    assert removal.plan.clean_up
    assert Forget("u1", "default", "web") in shard.handle(T0 + 21, synced(removal, T0 + 21))


def test_a_pod_that_ended_by_itself_is_released_and_finished_while_its_object_stays() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, api(restart="Never")))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    done = [exited("c0", T0 + 4, 0)]
    stop = sync_of(shard.handle(T0 + 5, observed(T0 + 5, [sandbox()], done)))
    assert stop.plan.stop_sandboxes == ("s0",)
    shard.handle(T0 + 6, synced(stop, T0 + 6))
    out = shard.handle(T0 + 7, observed(T0 + 7, [sandbox(ready=False)], done))
    assert plans(out) == [RELEASE]
    out = shard.handle(T0 + 8, synced(sync_of(out), T0 + 8, did=False))
    assert finished(out) == [True]
    deleted = shard.handle(T0 + 9, api(restart="Never", **DELETED))
    assert (finished(deleted), syncs(deleted)) == ([True], [])
    assert [each.deleting for each in deleted if isinstance(each, Publish)] == [True]


def test_a_pod_that_is_forced_away_is_killed_with_what_is_left_of_its_grace_then_removed() -> None:
    shard = running()
    shard.handle(T0 + 9, api(deletionTimestamp="2027-01-15T08:00:09Z", deletionGracePeriodSeconds=20))
    assert syncs(shard.handle(T0 + 12, GONE)) == []
    out = killed(running(), GONE)
    assert sync_of(out).plan.clean_up
    assert Over("u1") not in out


def test_a_deleted_pod_that_the_runtime_holds_no_more_is_finished_at_once() -> None:
    out = machine().handle(T0 + 1, api({"phase": "Running", "containerStatuses": [known(RAN)]}, **DELETED))
    assert (finished(out), syncs(out)) == ([True], [])
    assert status_of(out)["phase"] == "Failed"
    assert main_of(out)["state"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert Over("u1") in out


def test_a_deleted_pod_that_never_ran_is_finished_as_failed() -> None:
    out = machine().handle(T0 + 1, api({"phase": "Pending"}, **DELETED))
    assert (finished(out), status_of(out)["phase"]) == ([True], "Failed")


def test_directories_that_were_left_behind_are_released_first() -> None:
    shard = ShardMachine(machine()._policy)
    shard.handle(T0, READY, api({"phase": "Running", "containerStatuses": [known(RAN)]}, **DELETED))
    shard.handle(T0 + 0.5, LeftBehind("u1", "default", "web"))
    out = shard.handle(T0 + 1, observed(T0 + 1), ObservedRoster((), T0 + 0.9))
    assert (finished(out), plans(out)) == ([False], [RELEASE])
    assert finished(shard.handle(T0 + 2, synced(sync_of(out), T0 + 2, did=False))) == [True]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_the_api_knows_as_ended_never_runs_again(phase: str) -> None:
    status = {"phase": phase, "reason": "Because", "containerStatuses": [known(ended(0, "Completed"), count=3)]}
    out = machine().handle(T0 + 1, api(status))
    assert syncs(out) == []
    told = status_of(out)
    assert (told["phase"], told["reason"], main_of(out)["restartCount"]) == (phase, "Because", 3)
    assert main_of(out)["state"]["terminated"]["exitCode"] == 0


def test_what_runs_of_a_pod_that_the_api_knows_as_ended_is_stopped() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox()], [container()]))
    assert [kill.id for kill in sync_of(shard.handle(T0 + 2, api({"phase": "Failed"}))).plan.kill] == ["c0"]


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (1, "Failed")])
def test_a_job_whose_container_the_runtime_has_lost_ends_as_the_api_knows_it(code: int, phase: str) -> None:
    out = machine().handle(T0 + 1, api({"phase": "Running", "containerStatuses": [known(ended(code))]}, "Never"))
    assert (status_of(out)["phase"], syncs(out)) == (phase, [])
    out = machine().handle(T0 + 1, api({"containerStatuses": [known(ended(code))]}, "Never", **DELETED))
    assert (status_of(out)["phase"], finished(out)) == (phase, [True])


def test_restart_counts_go_on_from_what_the_api_knows() -> None:
    shard = machine()
    out = shard.handle(T0 + 1, api({"containerStatuses": [known(RAN, count=4)]}))
    assert main_of(out)["restartCount"] == 5
    assert main_of(out)["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown"
    assert [start.attempt for start in sync_of(out).plan.start] == [5]


@pytest.mark.parametrize(
    ("last", "count", "attempt"),
    [(ended(1), 2, 3), (ended(137, "ContainerStatusUnknown"), 2, 2)],
    ids=["in back-off", "lost and not yet started"],
)
def test_a_container_that_waited_is_started_with_the_attempt_that_follows(
    last: dict[str, Any], count: int, attempt: int
) -> None:
    waits = {"waiting": {"reason": "CrashLoopBackOff"}}
    out = machine().handle(T0 + 1, api({"containerStatuses": [known(waits, count, last)]}))
    assert [start.attempt for start in sync_of(out).plan.start] == [attempt]
    assert main_of(out)["restartCount"] == count


def test_what_the_runtime_holds_counts_more_than_what_the_api_knows() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox()], [container(attempt=1)]))
    out = shard.handle(T0 + 2, api({"containerStatuses": [known(ended(1))]}))
    assert syncs(out) == []
    assert (main_of(out)["restartCount"], main_of(out)["state"].keys()) == (1, {"running"})


def test_the_start_time_is_the_one_that_the_api_knows() -> None:
    since = rfc3339(T0 - 500)
    assert status_of(machine().handle(T0 + 1, api({"startTime": since})))["startTime"] == since
    assert status_of(machine().handle(T0 + 1, api({"startTime": "soon"})))["startTime"] == rfc3339(T0 + 1)


def test_a_change_of_the_spec_does_not_break_the_stop_off() -> None:
    shard = running()
    shard.handle(T0 + 9, api(**DELETED))
    changed = pod(source="api", image="reg.test/app:2", metadata=DELETED)
    out = shard.handle(T0 + 10, Wanted(changed, "api"))
    assert [each for each in out if type(each).__name__ == "CancelSync"] == []
