"""Images that cannot be pulled, containers that cannot be made, steps that fail (sections 3.5 to 3.7)."""

from itertools import pairwise

from tests.machines.pod.builders import (
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

from podherd.machines.pod.events import SandboxFailed, Started, StartFailed, StepFailed, Woke
from podherd.machines.pod.instructions import Instruction, StartContainer, Sync, WakeAt
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import spread

PULL_FAILED = StartFailed("main", "ErrImagePull", "not found", image_pull=True)
IN_BACK_OFF = StartFailed("main", "ImagePullBackOff", 'Back-off pulling image "reg.test/app:1": not found')
RETRY_S = 10 * spread("u1")


def begun() -> tuple[ShardMachine, Sync]:
    shard = machine()
    return shard, sync_of(shard.handle(T0 + 1, wanted()))


def state(out: list[Instruction]) -> object:
    return status_of(out)["containerStatuses"][0]["state"]


def test_a_failed_pull_is_shown_and_at_once_becomes_back_off() -> None:
    shard, sync = begun()
    shard.handle(T0 + 2, synced(sync, T0 + 2, PULL_FAILED))
    out = shard.handle(T0 + 3, observed(T0 + 3, [sandbox()]))
    assert state(out) == {"waiting": {"reason": "ErrImagePull", "message": "not found"}}
    second = sync_of(out)
    assert second.plan.start == (StartContainer("main", 0, pull_allowed=False, back_off="ErrImagePull: not found"),)
    out = shard.handle(T0 + 4, synced(second, T0 + 4, IN_BACK_OFF, did=False))
    assert state(out) == {"waiting": {"reason": "ImagePullBackOff", "message": IN_BACK_OFF.message}}
    assert sync_of(shard.handle(T0 + 12, Woke("u1"))).plan.start == (
        StartContainer("main", 0, True, "ErrImagePull: not found"),
    )


def test_the_pull_back_off_doubles_and_an_absent_image_is_looked_for_in_between() -> None:
    shard, sync = begun()
    now, pulls, looks = T0 + 2, [], 0
    while len(pulls) < 7:
        if sync.plan.start[0].pull_allowed:
            pulls.append(now)
            out = shard.handle(now, synced(sync, now - 0.001, PULL_FAILED), observed(now, [sandbox()]))
        else:
            looks += 1
            out = shard.handle(now, synced(sync, now, IN_BACK_OFF, did=False))
        while not syncs(out):
            now = max(each.at for each in out if isinstance(each, WakeAt))
            out = shard.handle(now, Woke("u1"))
        sync = sync_of(out)
    gaps = [round(b - a) for a, b in pairwise(pulls)]
    assert gaps == [10, 20, 40, 80, 160, 300]
    assert looks > 30


def test_an_image_that_appears_during_the_back_off_starts_the_container() -> None:
    shard, sync = begun()
    shard.handle(T0 + 2, synced(sync, T0 + 2, PULL_FAILED))
    second = sync_of(shard.handle(T0 + 3, observed(T0 + 3, [sandbox()])))
    shard.handle(T0 + 4, synced(second, T0 + 4, Started("main", "c0", 0)))
    out = shard.handle(T0 + 5, observed(T0 + 5, [sandbox()], [container()]))
    assert status_of(out)["phase"] == "Running"


def test_containers_that_share_an_image_raise_its_back_off_once() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted(containers=("a", "b"))))
    failed = [StartFailed(name, "ErrImagePull", "no", image_pull=True) for name in ("a", "b")]
    back = [StartFailed(name, "ImagePullBackOff", "no") for name in ("a", "b")]
    second = sync_of(shard.handle(T0 + 2, synced(sync, T0 + 1.9, *failed), observed(T0 + 2, [sandbox()])))
    out = shard.handle(T0 + 3, synced(second, T0 + 3, *back, did=False))
    assert out[-1] == WakeAt("u1", T0 + 12)


def test_an_image_of_a_volume_has_a_back_off_of_its_own() -> None:
    shard, sync = begun()
    failed = StartFailed("main", "ErrImagePull", "no route", image_pull=True, image="reg.test/data:1")
    out = shard.handle(T0 + 2, synced(sync, T0 + 1.9, failed), observed(T0 + 2, [sandbox()]))
    second = sync_of(out)
    assert second.plan.start == (StartContainer("main", 0, held=(("reg.test/data:1", "ErrImagePull: no route"),)),)
    held = StartFailed("main", "ImagePullBackOff", "Back-off pulling", image="reg.test/data:1")
    assert shard.handle(T0 + 3, synced(second, T0 + 3, held, did=False))[-1] == WakeAt("u1", T0 + 12)
    assert sync_of(shard.handle(T0 + 12, Woke("u1"))).plan.start == (StartContainer("main", 0),)


def test_a_container_that_cannot_be_made_waits_ten_to_fifteen_seconds() -> None:
    shard, sync = begun()
    shard.handle(T0 + 2, synced(sync, T0 + 2, StartFailed("main", "CreateContainerError", "bad mount")))
    out = shard.handle(T0 + 3, observed(T0 + 3, [sandbox()]))
    assert syncs(out) == []
    assert state(out) == {"waiting": {"reason": "CreateContainerError", "message": "bad mount"}}
    assert out[-1] == WakeAt("u1", T0 + 2 + RETRY_S)
    assert sync_of(shard.handle(T0 + 2 + RETRY_S, Woke("u1"))).plan.start == (StartContainer("main", 0),)


def test_one_container_s_failure_does_not_hold_another() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted(containers=("bad", "good"))))
    shard.handle(
        T0 + 2, synced(sync, T0 + 2, StartFailed("bad", "CreateContainerError", "no"), Started("good", "g0", 0))
    )
    assert sync_of(shard.handle(T0 + 3, observed(T0 + 3, [sandbox()]))).plan.start == (StartContainer("good", 1),)


def test_a_spec_edit_is_tried_at_once_in_spite_of_a_failure() -> None:
    shard, sync = begun()
    shard.handle(T0 + 2, synced(sync, T0 + 2, StartFailed("main", "InvalidImageName", "bad")))
    shard.handle(T0 + 3, observed(T0 + 3, [sandbox()]))
    assert sync_of(shard.handle(T0 + 4, wanted(image="reg.test/app:2"))).pod == pod(image="reg.test/app:2")


def test_a_failed_step_holds_the_whole_pod_for_ten_to_fifteen_seconds() -> None:
    shard, sync = begun()
    shard.handle(T0 + 2, synced(sync, T0 + 2, StepFailed("volumes", "no such directory"), did=False))
    assert shard.handle(T0 + 3, observed(T0 + 3), Woke("u1")) == [WakeAt("u1", T0 + 2 + RETRY_S)]
    assert sync_of(shard.handle(T0 + 2 + RETRY_S, Woke("u1"))).plan == sync.plan


def test_a_failed_sandbox_does_not_count_as_a_restart_in_the_crash_back_off() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox(ready=False)], [exited("c0", T0)]))
    sync, now = sync_of(shard.handle(T0 + 2, wanted())), T0 + 2
    for _ in range(5):
        shard.handle(now, synced(sync, now - 0.001, SandboxFailed("no")))
        shard.handle(now, observed(now, [sandbox(ready=False)], [exited("c0", T0)]))
        now += 15
        sync = sync_of(shard.handle(now, Woke("u1")))
        assert [each.name for each in sync.plan.start] == ["main"]
