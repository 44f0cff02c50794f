"""Hooks, turns and grace of a stop; deadlines; what is left behind (kubelet behaviour, 3.8, 6.1, 15; case TERM-1)."""

import json
from typing import Any

import pytest
from tests.machines.pod.builders import (
    RELEASE,
    T0,
    container,
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
from tests.machines.pod.told import one, pod, sidecar

from podherd.machines.pod.events import HookEnded, LeftBehind, Started, StepFailed, Wanted, Woke
from podherd.machines.pod.instructions import CancelSync, Forget, Instruction, KillContainer, Plan, Record, WakeAt
from podherd.machines.pod.machine import ShardMachine
from podherd.model import keys
from podherd.model.pod import Pod
from podherd.wire.desired import Gone, Roster
from podherd.wire.observed import ContainerSeen, ObservedRoster

S0 = (sandbox(),)
HOOK = {"exec": {"command": ["flush"]}}
GONE = Gone("u1", "default", "web", "file web.yaml deleted")


def hooked(name: str = "main", **body: Any) -> dict[str, Any]:
    return dict(one(name, lifecycle={"preStop": HOOK}, **body))


def runs(name: str = "main", **more: Any) -> ContainerSeen:
    return container(name, name, **more)


def begun(of: Pod, *containers: ContainerSeen) -> ShardMachine:
    """A machine whose pod runs so."""
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, containers or [runs()]))
    assert syncs(shard.handle(T0 + 2, Wanted(of, "file"))) == []
    return shard


def kills(out: list[Instruction]) -> tuple[KillContainer, ...]:
    return sync_of(out).plan.kill


def test_the_hook_of_the_spec_goes_with_the_kill_and_the_pod_s_address() -> None:
    out = begun(pod([hooked()])).handle(T0 + 9, GONE)
    assert kills(out) == (KillContainer("main", "main", 30, "Stopping container main", HOOK, (), "10.0.0.1"),)


def test_a_container_that_is_replaced_runs_its_hook_too() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, [runs(image="reg.test/app:0")]))
    (kill,) = kills(shard.handle(T0 + 2, Wanted(pod([hooked()]), "file")))
    assert (kill.hook, kill.grace_s, kill.message) == (HOOK, 30, "Container main definition changed, will be restarted")


@pytest.mark.parametrize(("text", "hook"), [(json.dumps(HOOK), HOOK), ("{", None), ("[]", None), ("", None)])
def test_an_orphan_runs_the_hook_that_its_container_carries_within_one_second(text: str, hook: Any) -> None:
    seen = runs()
    seen.annotations[keys.CONTAINER_PRE_STOP_HANDLER] = text
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, [sandbox(source="api")], [seen]))
    (kill,) = kills(shard.handle(T0 + 2, Roster((), True)))
    assert (kill.hook, kill.grace_s) == (hook, 1)


def test_term_1_a_hook_that_hangs_gets_no_second_grace() -> None:
    shard = begun(pod([hooked()], terminationGracePeriodSeconds=20))
    sync = sync_of(shard.handle(T0 + 10, GONE))
    assert sync.plan.kill[0].grace_s == 20
    shard.handle(T0 + 30, synced(sync, T0 + 30, HookEnded("main"), StepFailed("kill", "busy")))
    shard.handle(T0 + 31, observed(T0 + 31, S0, [runs()]))
    (kill,) = kills(shard.handle(T0 + 50, Woke("u1")))
    assert (kill.grace_s, kill.hook) == (0, None)


def test_term_1_a_second_order_without_grace_cuts_the_first_one_short() -> None:
    of = pod([hooked()], source="api", terminationGracePeriodSeconds=20)
    shard = begun(of)
    deleted = {"deletionTimestamp": "2027-01-15T08:00:09Z", "deletionGracePeriodSeconds": 20}
    again = deleted | {"deletionGracePeriodSeconds": 0}

    def order(metadata: dict[str, Any]) -> Wanted:
        return Wanted(pod([hooked()], source="api", metadata=metadata, terminationGracePeriodSeconds=20), "api")

    sync = sync_of(shard.handle(T0 + 10, order(deleted)))
    assert CancelSync("u1", sync.plan_id) in shard.handle(T0 + 14, order(again))
    shard.handle(T0 + 14, synced(sync, T0 + 14, HookEnded("main"), cancelled=True))
    (kill,) = kills(shard.handle(T0 + 14.1, observed(T0 + 14.05, S0, [runs()])))
    assert (kill.grace_s, kill.hook) == (1, None)


def test_a_shorter_grace_counts_from_its_own_order() -> None:
    shard = begun(pod(source="api", terminationGracePeriodSeconds=60))
    deleted = {"deletionTimestamp": "2027-01-15T08:00:09Z"}

    def order(grace_s: int) -> Wanted:
        metadata = deleted | {"deletionGracePeriodSeconds": grace_s}
        return Wanted(pod(source="api", metadata=metadata, terminationGracePeriodSeconds=60), "api")

    sync = sync_of(shard.handle(T0 + 10, order(60)))
    shard.handle(T0 + 40, order(10))
    shard.handle(T0 + 40, synced(sync, T0 + 40, cancelled=True))
    assert kills(shard.handle(T0 + 41, observed(T0 + 40.5, S0, [runs()])))[0].grace_s == 10


def test_a_stop_of_a_pod_that_is_over_has_one_grace_however_often_it_is_tried() -> None:
    shard = machine(complete=False)
    of = pod(init=[sidecar("proxy")], restart="Never")
    held = [exited("main", T0, 0), runs("proxy")]
    shard.handle(T0 + 1, observed(T0 + 1, S0, held))
    sync = sync_of(shard.handle(T0 + 2, Wanted(of, "file")))
    assert sync.plan.kill[0].grace_s == 30
    shard.handle(T0 + 3, synced(sync, T0 + 3, StepFailed("kill", "busy")))
    shard.handle(T0 + 4, observed(T0 + 4, S0, held))
    assert kills(shard.handle(T0 + 20, Woke("u1")))[0].grace_s == 12


def test_sidecars_stop_after_the_app_and_each_other_in_reverse() -> None:
    of = pod(["main", "side"], [sidecar("a"), "setup", sidecar("b")])
    out = begun(of, *map(runs, ("b", "side", "main", "a")), exited("setup", T0, 0, name="setup")).handle(T0 + 9, GONE)
    assert {kill.name: kill.after for kill in kills(out)} == {
        "main": (),
        "side": (),
        "b": ("main", "side"),
        "a": ("main", "side", "b"),
    }


def test_a_sidecar_that_is_replaced_waits_for_nobody() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, observed(T0 + 1, S0, [runs(), runs("a", image="reg.test/app:0")]))
    (kill,) = kills(shard.handle(T0 + 2, Wanted(pod(init=[sidecar("a")]), "file")))
    assert (kill.name, kill.after) == ("a", ())


def test_a_pod_past_its_deadline_fails_and_is_stopped() -> None:
    shard = begun(pod([hooked()], activeDeadlineSeconds=60))
    assert WakeAt("u1", T0 + 60) in shard.handle(T0 + 3, Woke("u1"))
    out = shard.handle(T0 + 60, Woke("u1"))
    status = status_of(out)
    message = "Pod was active on the node longer than the specified deadline"
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "DeadlineExceeded", message)
    events = [each.event for each in out if isinstance(each, Record)]
    assert [(e.type, e.reason, e.message) for e in events] == [("Normal", "DeadlineExceeded", message)]
    assert [(kill.name, kill.hook) for kill in kills(out)] == [("main", HOOK)]
    shard.handle(T0 + 61, synced(sync_of(out), T0 + 61))
    out = shard.handle(T0 + 62, observed(T0 + 62, [sandbox(ready=False)], [exited("main", T0 + 61, 143)]))
    assert (plans(out), status_of(out)["reason"]) == ([RELEASE], "DeadlineExceeded")


def test_the_deadline_does_not_touch_a_pod_that_is_done() -> None:
    shard = begun(pod(restart="Never", activeDeadlineSeconds=60))
    out = shard.handle(T0 + 9, observed(T0 + 9, S0, [exited("main", T0 + 8, 0)]))
    assert status_of(out)["phase"] == "Succeeded"
    shard.handle(T0 + 10, synced(sync_of(out), T0 + 10))
    out = shard.handle(T0 + 90, observed(T0 + 90, [sandbox(ready=False)], [exited("main", T0 + 8, 0)]))
    assert not [each for each in out if isinstance(each, Record)]


def test_the_deadline_counts_from_the_first_sandbox_also_for_a_new_machine() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 100, observed(T0 + 99, S0, [runs()]))
    out = shard.handle(T0 + 101, Wanted(pod(activeDeadlineSeconds=60), "file"))
    assert status_of(out)["reason"] == "DeadlineExceeded"


def test_directories_that_nobody_wants_go_once_sources_and_runtime_are_known() -> None:
    shard = machine(complete=False)
    assert shard.handle(T0 + 1, LeftBehind("u9", "default", "old")) == []
    sync = sync_of(shard.handle(T0 + 2, Roster((), True)))
    assert (sync.uid, sync.pod, sync.plan) == ("u9", None, Plan(clean_up=True))
    assert shard.handle(T0 + 3, synced(sync, T0 + 3)) == [Forget("u9", "default", "old")]


def test_directories_wait_for_the_runtime_s_word_also_when_the_sources_are_known() -> None:
    shard = ShardMachine(machine()._policy)
    told = [Roster((), True), LeftBehind("u9", "default", "old")]
    assert shard.handle(T0 + 1, *told) == []
    shard.handle(T0 + 2, observed(T0 + 2, S0, [runs()], uid="u9", name="old"))
    ready = machine()._herd.runtime
    assert ready is not None
    out = shard.handle(T0 + 3, ready, ObservedRoster(("u9",), T0 + 3))
    assert [kill.id for kill in kills(out)] == ["main"]


@pytest.mark.parametrize("news", [Roster((), True), Gone("u9", "default", "old", "file old.yaml deleted")])
def test_a_static_pod_that_is_only_known_by_its_directories_is_stopped_with_its_own_grace(news: Roster | Gone) -> None:
    """A shard that begins anew in the middle of a stop hears of the sources before it sees the pod."""
    shard = ShardMachine(machine()._policy)
    assert shard.handle(T0 + 1, LeftBehind("u9", "default", "old"), news, Roster((), True)) == []
    carried = {keys.POD_TERMINATION_GRACE_PERIOD: "25"}
    static = (sandbox(source="file"),)
    shard.handle(T0 + 2, observed(T0 + 2, static, [runs(annotations=carried)], uid="u9", name="old"))
    ready = machine()._herd.runtime
    assert ready is not None
    out = shard.handle(T0 + 3, ready, ObservedRoster(("u9",), T0 + 3))
    assert [kill.grace_s for kill in kills(out)] == [25]


def test_directories_of_a_pod_that_vanished_before_they_were_found_go_too() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 2, observed(T0 + 1, S0, uid="u9", name="old"), observed(T0 + 2, uid="u9", name="old"))
    shard.handle(T0 + 3, LeftBehind("u9", "default", "old"))
    sync = sync_of(shard.handle(T0 + 4, Roster((), True)))
    assert (sync.uid, sync.plan) == ("u9", Plan(clean_up=True))


def test_directories_of_a_wanted_pod_are_nothing_special() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, LeftBehind("u1", "default", "web"))
    sync = sync_of(shard.handle(T0 + 2, Wanted(pod(), "file")))
    assert sync.plan.make_sandbox == 0
    shard.handle(T0 + 3, synced(sync, T0 + 3, Started("main", "main", 0)))
    assert syncs(shard.handle(T0 + 4, observed(T0 + 4, S0, [runs()]), Roster(("u1",), True))) == []


def test_directories_of_a_pod_whose_body_is_on_its_way_stay() -> None:
    shard = machine(complete=False)
    shard.handle(T0 + 1, LeftBehind("u1", "default", "web"))
    assert syncs(shard.handle(T0 + 2, Roster(("u1",), True))) == []


def test_the_back_off_belongs_to_the_image() -> None:
    def image(tag: str) -> Pod:
        return pod([{**one("main"), "image": f"reg.test/app:{tag}"}])

    shard = begun(image("1"))
    sync = sync_of(shard.handle(T0 + 9, observed(T0 + 9, S0, [exited("main", T0 + 9)])))
    shard.handle(T0 + 10, synced(sync, T0 + 10, Started("main", "main1", 1)))
    again = exited("main1", T0 + 11, attempt=1, created_at=T0 + 10)
    assert syncs(shard.handle(T0 + 12, observed(T0 + 12, S0, [again]))) == []
    assert [each.attempt for each in sync_of(shard.handle(T0 + 13, Wanted(image("2"), "edit"))).plan.start] == [2]


def test_every_plan_says_why() -> None:
    shard = machine()
    plans = [sync_of(shard.handle(T0 + 1, Wanted(pod(), "file")))]
    shard.handle(T0 + 2, synced(plans[-1], T0 + 2, Started("main", "main", 0)))
    plans.append(sync_of(shard.handle(T0 + 3, observed(T0 + 3, S0, [exited("main", T0 + 2.5, 7)]))))
    shard.handle(T0 + 4, synced(plans[-1], T0 + 4, Started("main", "main1", 1)))
    shard.handle(T0 + 5, observed(T0 + 5, S0, [runs("main", attempt=1, created_at=T0 + 4)]))
    plans.append(sync_of(shard.handle(T0 + 6, GONE)))
    shard.handle(T0 + 7, synced(plans[-1], T0 + 7))
    plans.append(sync_of(shard.handle(T0 + 8, observed(T0 + 8, [sandbox(ready=False)]))))
    assert [sync.plan.why for sync in plans] == [
        "no pod sandbox exists",
        "container main ended with exit code 7",
        "file web.yaml deleted",
        "nothing of it runs",
    ]
