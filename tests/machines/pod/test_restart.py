"""Restart policies, crash back-off, container hash, proofs of completed runs (sections 3.4, 3.5; case SYNC-3)."""

from dataclasses import replace

import pytest
from tests.machines.pod.builders import (
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
    wanted,
)

from podherd.machines.pod.events import Started, StartFailed, Woke
from podherd.machines.pod.instructions import Instruction, KillContainer, Plan, Publish, Record, StartContainer, WakeAt
from podherd.machines.pod.machine import ShardMachine
from podherd.wire.observed import ContainerSeen


def running(**changes: object) -> ShardMachine:
    """A machine whose pod u1 runs, seen at T0 + 3."""
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted(**changes)))
    names = [each.name for each in pod(**changes).containers]  # type: ignore[arg-type]
    shard.handle(T0 + 2, synced(sync, T0 + 2, *(Started(name, f"{name}0", 0) for name in names)))
    shard.handle(T0 + 3, observed(T0 + 3, [sandbox()], [container(f"{name}0", name) for name in names]))
    return shard


def see(shard: ShardMachine, at: float, *containers: ContainerSeen, ready: bool = True) -> list[Instruction]:
    return shard.handle(at, observed(at, [sandbox(ready=ready)], containers))


def waiting(out: list[Instruction]) -> dict[str, str]:
    found: dict[str, str] = status_of(out)["containerStatuses"][0]["state"]["waiting"]
    return found


def test_the_first_restart_is_immediate_with_the_next_attempt() -> None:
    out = see(running(), T0 + 9, exited("main0", T0 + 9))
    assert sync_of(out).plan == Plan(sandbox_id="s0", start=(StartContainer("main", 1),))


def test_restarts_back_off_from_the_container_s_end_and_double() -> None:
    shard = running()
    sync, at, delays = sync_of(see(shard, T0 + 9, exited("main0", T0 + 9))), T0 + 9, []
    for attempt in range(1, 8):
        shard.handle(at + 1, synced(sync, at + 1, Started("main", f"main{attempt}", attempt)))
        end = at + 2
        out = see(shard, end, exited(f"main{attempt}", end, attempt=attempt, created_at=at + 1))
        while not syncs(out):
            at = next(each.at for each in out if isinstance(each, WakeAt))
            out = shard.handle(at, Woke("u1"))
        sync = sync_of(out)
        delays.append(at - end)
        assert sync.plan.start == (StartContainer("main", attempt + 1),)
    assert delays == [10, 20, 40, 80, 160, 300, 300]


def test_a_crash_loop_says_so_in_status_and_one_event() -> None:
    shard = running()
    sync = sync_of(see(shard, T0 + 9, exited("main0", T0 + 9)))
    shard.handle(T0 + 10, synced(sync, T0 + 10, Started("main", "main1", 1)))
    out = see(shard, T0 + 11, exited("main1", T0 + 11, attempt=1, created_at=T0 + 10))
    status = status_of(out)
    assert status["phase"] == "Running"
    assert status["containerStatuses"][0]["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": "back-off 10s restarting failed container=main pod=web_default(u1)",
        }
    }
    assert status["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1
    assert status["containerStatuses"][0]["restartCount"] == 1
    events = [each.event for each in out if isinstance(each, Record)]
    assert [(e.type, e.reason, e.message, e.field_path) for e in events] == [
        ("Warning", "BackOff", "Back-off restarting failed container main in pod web_default(u1)",
         "spec.containers{main}")
    ]  # fmt: skip
    assert shard.handle(T0 + 12, Woke("u1")) == [WakeAt("u1", T0 + 21)]


def test_a_run_of_more_than_ten_minutes_forgives_the_earlier_crashes() -> None:
    shard = running()
    sync = sync_of(see(shard, T0 + 9, exited("main0", T0 + 9)))
    shard.handle(T0 + 10, synced(sync, T0 + 10, Started("main", "main1", 1)))
    out = see(shard, T0 + 700, exited("main1", T0 + 700, attempt=1, created_at=T0 + 10))
    assert sync_of(out).plan.start == (StartContainer("main", 2),)


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", 0, "Succeeded"), ("Never", 3, "Failed"), ("OnFailure", 0, "Succeeded")],
)
def test_a_pod_whose_containers_are_done_only_loses_its_sandbox(policy: str, code: int, phase: str) -> None:
    shard = running(restart=policy)
    out = see(shard, T0 + 9, exited("main0", T0 + 9, code))
    assert status_of(out)["phase"] == phase
    assert sync_of(out).plan == Plan(stop_sandboxes=("s0",))
    shard.handle(T0 + 10, synced(sync_of(out), T0 + 10))
    assert plans(see(shard, T0 + 11, exited("main0", T0 + 9, code), ready=False)) == [RELEASE]


def test_on_failure_restarts_a_failed_container_and_keeps_the_pod_running() -> None:
    out = see(running(restart="OnFailure"), T0 + 9, exited("main0", T0 + 9, 3))
    assert status_of(out)["phase"] == "Running"
    assert sync_of(out).plan.start == (StartContainer("main", 1),)


def test_never_with_one_container_still_running_does_nothing() -> None:
    shard = running(restart="Never", containers=("hold", "tick"))
    out = see(shard, T0 + 9, container("hold0", "hold"), exited("tick0", T0 + 9, 0, name="tick"))
    assert syncs(out) == []
    assert status_of(out)["phase"] == "Running"


def test_sync_3_a_finished_run_stays_finished_when_the_runtime_has_lost_it() -> None:
    shard = running(restart="Never", containers=("hold", "tick"))
    see(shard, T0 + 9, container("hold0", "hold"), exited("tick0", T0 + 9, 0, name="tick"))
    assert see(shard, T0 + 10, container("hold0", "hold")) == []
    out = see(shard, T0 + 60, exited("hold0", T0 + 60, 0, name="hold"))
    assert status_of(out)["phase"] == "Succeeded"
    assert sync_of(out).plan.start == ()
    tick = status_of(out)["containerStatuses"][1]
    assert (tick["name"], tick["state"]["terminated"]["exitCode"]) == ("tick", 0)


def test_sync_3_no_second_sandbox_for_a_pod_that_succeeded() -> None:
    shard = running(restart="OnFailure")
    out = see(shard, T0 + 9, exited("main0", T0 + 9, 0), ready=False)
    assert status_of(out)["phase"] == "Succeeded"
    assert plans(out) == [RELEASE]


def test_a_terminal_phase_is_never_left() -> None:
    shard = running(restart="Never")
    see(shard, T0 + 9, exited("main0", T0 + 9, 0))
    out = shard.handle(T0 + 10, observed(T0 + 10), Woke("u1"))
    assert all(each.status["phase"] == "Succeeded" for each in out if isinstance(each, Publish))
    assert syncs(out) == []


def test_a_running_container_that_vanishes_counts_as_killed_and_starts_with_the_next_attempt() -> None:
    out = see(running(), T0 + 9)
    assert sync_of(out).plan.start == (StartContainer("main", 1),)
    ended = status_of(out)["containerStatuses"][0]["lastState"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("ContainerStatusUnknown", 137)


def test_a_container_that_was_started_and_never_seen_counts_as_a_crash() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "main0", 4)))
    assert sync_of(see(shard, T0 + 3)).plan.start == (StartContainer("main", 5),)


def test_a_late_sight_of_a_started_container_is_not_a_second_one() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "main0", 0)))
    second = sync_of(see(shard, T0 + 3))
    shard.handle(T0 + 4, synced(second, T0 + 4, cancelled=True))
    assert syncs(see(shard, T0 + 5, container("main0", created_at=T0 + 1.5))) == []


def test_a_changed_image_replaces_that_container_only() -> None:
    shard = running(containers=("a", "b"))
    changed = pod(containers=("a", "b"))
    body = {"metadata": {}, "spec": {"containers": [{"name": "a", "image": "new"}]}}
    newer = replace(
        changed, containers=(replace(changed.containers[0], image="reg.test/app:2"), changed.containers[1]), body=body
    )
    plan = sync_of(shard.handle(T0 + 9, wanted(newer))).plan
    assert plan == Plan(
        kill=(KillContainer("a0", "a", 30, "Container a definition changed, will be restarted"),),
        sandbox_id="s0",
        start=(StartContainer("a", 1),),
    )


def test_a_container_in_unknown_state_is_killed_before_its_restart() -> None:
    plan = sync_of(see(running(restart="Never"), T0 + 9, container("main0", state="unknown"))).plan
    assert [each.id for each in plan.kill] == ["main0"]
    assert plan.start == ()


def test_a_created_container_that_never_started_is_started_anew() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted(restart="Never")))
    shard.handle(T0 + 2, synced(sync, T0 + 2, cancelled=True))
    out = see(shard, T0 + 3, container("main0", state="created"))
    assert status_of(out)["containerStatuses"][0]["state"] == {"waiting": {}}
    assert sync_of(out).plan.start == (StartContainer("main", 1),)


def test_of_two_live_containers_of_one_name_the_older_is_killed() -> None:
    out = see(running(), T0 + 9, container("main1", attempt=1, created_at=T0 + 5), container("main0"))
    assert [each.id for each in sync_of(out).plan.kill] == ["main0"]


def test_older_dead_instances_go_with_the_next_start_and_one_stays() -> None:
    dead = [exited(f"main{n}", T0 + 7 + n, attempt=n, created_at=T0 + 6 + n) for n in (2, 1, 0)]
    out = see(running(), T0 + 9, *dead)
    assert sync_of(out).plan == Plan(
        remove_containers=("main1", "main0"), sandbox_id="s0", start=(StartContainer("main", 3),)
    )


def test_older_dead_instances_of_a_calm_pod_are_removed() -> None:
    shard = running()
    dead = [exited(f"x{n}", T0 - n, created_at=T0 - n) for n in (1, 2, 3)]
    out = see(shard, T0 + 9, container("main0"), *dead)
    assert sync_of(out).plan == Plan(remove_containers=("x2", "x3"), sandbox_id="s0")


def test_a_plan_without_effect_is_not_repeated_at_once() -> None:
    shard = running()
    dead = [exited(f"x{n}", T0 - n, created_at=T0 - n) for n in (1, 2)]
    sync = sync_of(see(shard, T0 + 9, container("main0"), *dead))
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    out = see(shard, T0 + 11, container("main0"), *dead)
    assert syncs(out) == []
    due = next(each.at for each in out if isinstance(each, WakeAt))
    assert T0 + 20 <= due <= T0 + 25
    assert sync_of(shard.handle(due, Woke("u1"))).plan == sync.plan


def test_an_end_from_before_the_clock_was_set_back_holds_no_restart_for_longer_than_its_back_off() -> None:
    shard, back, ended = running(), T0 - 3600, exited("main0", T0 + 9)
    before = sync_of(see(shard, T0 + 9, ended))
    failed = StartFailed("main", "RunContainerError", "busy")
    shard.handle(back, Woke("u1"))
    shard.handle(back + 1, synced(before, back + 1, failed))
    see(shard, back + 2, ended)
    again = sync_of(shard.handle(back + 20, Woke("u1")))
    shard.handle(back + 21, synced(again, back + 21, failed))
    see(shard, back + 22, ended)
    assert plans(shard.handle(back + 60, Woke("u1"))) == [again.plan]
