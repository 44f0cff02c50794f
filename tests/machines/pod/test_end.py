"""Termination, orphans, editions of one pod, drain (kubelet behaviour, sections 2.3, 2.5, 3.8, 15; case SRC-3)."""

from tests.machines.pod.builders import (
    POLICY,
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
    wanted,
)

from podherd.machines.pod.events import Started, StepFailed, Synced, Unreadable, Woke
from podherd.machines.pod.instructions import (
    AllStopped,
    CancelSync,
    Forget,
    Instruction,
    KillContainer,
    LookAgain,
    Plan,
    Publish,
    Sync,
    WakeAt,
)
from podherd.machines.pod.machine import ShardMachine
from podherd.wire.control import Drain
from podherd.wire.desired import Gone, Roster
from podherd.wire.observed import ObservedRoster

GONE = Gone("u1", "default", "web", "file web.yaml deleted")
REMOVAL = Plan(remove_containers=("c0",), remove_sandboxes=("s0",), clean_up=True)


def running(shard: ShardMachine | None = None, **changes: object) -> ShardMachine:
    shard = shard or machine()
    sync = sync_of(shard.handle(T0 + 1, wanted(**changes)))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    shard.handle(T0 + 3, observed(T0 + 3, [sandbox()], [container()]))
    return shard


def stopped(at: float) -> object:
    return observed(at, [sandbox(ready=False)], [exited("c0", at, 143)])


def kill(grace_s: int) -> Plan:
    return Plan(kill=(KillContainer("c0", "main", grace_s, "Stopping container main"),), stop_sandboxes=("s0",))


def finish(shard: ShardMachine, sync: Sync, at: float) -> list[Instruction]:
    """The kill is done, the stop is seen, the removal is done: what the last one says."""
    shard.handle(at, synced(sync, at))
    removal = sync_of(shard.handle(at + 1, stopped(at + 0.5)))  # type: ignore[arg-type]
    assert removal.plan == REMOVAL
    return shard.handle(at + 2, synced(removal, at + 2))


def test_a_pod_that_is_gone_is_killed_seen_stopped_removed_and_forgotten() -> None:
    shard = running(grace_s=7)
    out = shard.handle(T0 + 9, GONE)
    assert sync_of(out).plan == kill(7)
    assert [each.deleting for each in out if isinstance(each, Publish)] == [True]
    assert finish(shard, sync_of(out), T0 + 10) == [Forget("u1", "default", "web")]
    assert shard.pod("u1") is None
    assert list(shard.published()) == []


def test_the_final_status_is_published_before_the_removal() -> None:
    shard = running()
    sync = sync_of(shard.handle(T0 + 9, GONE))
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    out = shard.handle(T0 + 11, stopped(T0 + 11))  # type: ignore[arg-type]
    assert [type(each) for each in out] == [Publish, Sync]
    assert status_of(out)["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


def test_an_api_pod_that_was_running_ends_failed_or_succeeded() -> None:
    for code, phase in ((143, "Failed"), (0, "Succeeded")):
        shard = running(source="api")
        shard.handle(T0 + 10, synced(sync_of(shard.handle(T0 + 9, GONE)), T0 + 10))
        out = shard.handle(T0 + 11, observed(T0 + 11, [sandbox(ready=False)], [exited("c0", T0 + 10, code)]))
        assert status_of(out)["phase"] == phase


def test_a_deleted_api_pod_is_stopped_and_kept_until_its_source_lets_go() -> None:
    shard = running(source="api")
    deleted = {"deletionTimestamp": "2027-01-15T08:00:09Z", "deletionGracePeriodSeconds": 5}
    sync = sync_of(shard.handle(T0 + 9, wanted(source="api", metadata=deleted)))
    assert sync.plan == kill(5)
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    release = sync_of(shard.handle(T0 + 11, stopped(T0 + 11)))  # type: ignore[arg-type]
    assert release.plan == RELEASE
    assert syncs(shard.handle(T0 + 12, synced(release, T0 + 12, did=False))) == []
    assert sync_of(shard.handle(T0 + 13, GONE)).plan == REMOVAL


def test_a_shorter_grace_breaks_the_running_kill_off_and_a_longer_one_does_not() -> None:
    shard = running(source="api")
    deleted = {"deletionTimestamp": "2027-01-15T08:00:09Z"}
    sync = sync_of(shard.handle(T0 + 9, wanted(source="api", metadata=deleted | {"deletionGracePeriodSeconds": 20})))
    longer = wanted(source="api", metadata=deleted | {"deletionGracePeriodSeconds": 40})
    assert not [each for each in shard.handle(T0 + 10, longer) if isinstance(each, CancelSync)]
    out = shard.handle(T0 + 13, wanted(source="api", metadata=deleted | {"deletionGracePeriodSeconds": 0}))
    assert CancelSync("u1", sync.plan_id) in out
    shard.handle(T0 + 13, synced(sync, T0 + 13, cancelled=True))
    again = shard.handle(T0 + 14, observed(T0 + 13.5, [sandbox()], [container()]))
    assert sync_of(again).plan == kill(1)


def test_a_kill_that_failed_is_tried_again_with_the_grace_that_is_left() -> None:
    shard = running(grace_s=30)
    sync = sync_of(shard.handle(T0 + 9, GONE))
    shard.handle(T0 + 10, synced(sync, T0 + 10, StepFailed("kill", "busy")))
    assert syncs(shard.handle(T0 + 11, observed(T0 + 10.5, [sandbox()], [container()]))) == []
    assert sync_of(shard.handle(T0 + 29, Woke("u1"))).plan == kill(10)


def test_going_while_a_sync_runs_breaks_it_off_and_tells() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    out = shard.handle(T0 + 2, GONE)
    assert [type(each) for each in out] == [CancelSync, Publish]
    shard.handle(T0 + 3, synced(sync, T0 + 3, cancelled=True))
    out = shard.handle(T0 + 4, observed(T0 + 3.5, [sandbox()], [container(state="created")]))
    assert sync_of(out).plan == Plan(stop_sandboxes=("s0",))


def test_a_removal_that_failed_is_tried_again() -> None:
    shard = running()
    shard.handle(T0 + 10, synced(sync_of(shard.handle(T0 + 9, GONE)), T0 + 10))
    removal = sync_of(shard.handle(T0 + 11, stopped(T0 + 11)))  # type: ignore[arg-type]
    out = shard.handle(T0 + 12, synced(removal, T0 + 12, StepFailed("clean_up", "busy")))
    assert [type(each) for each in out[:1]] == [LookAgain]
    shard.handle(T0 + 13, observed(T0 + 13))
    again = sync_of(shard.handle(T0 + 30, Woke("u1")))
    assert again.plan == Plan(clean_up=True)


def test_a_pod_that_never_ran_is_cleaned_up_and_forgotten() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, ObservedRoster((), T0), wanted())
    shard.handle(T0 + 1, GONE)
    sync = sync_of(shard.handle(T0 + 2, READY))
    assert sync.plan == Plan(clean_up=True)
    assert shard.handle(T0 + 3, synced(sync, T0 + 3, did=False)) == [Forget("u1", "default", "web")]


def test_a_late_view_does_not_bring_a_forgotten_pod_back() -> None:
    shard = running()
    finish(shard, sync_of(shard.handle(T0 + 9, GONE)), T0 + 10)
    assert shard.handle(T0 + 13, observed(T0 + 11.9, [sandbox()], [container()])) == []
    assert shard.handle(T0 + 14, observed(T0 + 13)) == []


def test_an_old_view_that_comes_once_more_after_newer_news_brings_nothing_back() -> None:
    old = observed(T0 + 9.5, [sandbox()], [container()])
    for newer in (observed(T0 + 13), ObservedRoster((), T0 + 13)):
        shard = running()
        finish(shard, sync_of(shard.handle(T0 + 9, GONE)), T0 + 10)
        assert shard.handle(T0 + 14, newer) == []
        assert shard.handle(T0 + 15, old) == []
        assert shard.handle(T0 + 16, wanted(), old) != []


def test_a_pod_that_is_made_anew_outside_after_it_was_forgotten_is_an_orphan() -> None:
    shard = running()
    finish(shard, sync_of(shard.handle(T0 + 9, GONE)), T0 + 10)
    shard.handle(T0 + 13, ObservedRoster(("u1",), T0 + 13))
    assert syncs(shard.handle(T0 + 14, observed(T0 + 13, [sandbox()], [container()]))) != []


def test_a_pod_that_comes_back_while_ending_ends_first_and_then_begins_anew() -> None:
    shard = running()
    sync = sync_of(shard.handle(T0 + 9, GONE))
    assert shard.handle(T0 + 9.5, wanted()) == []
    out = finish(shard, sync, T0 + 10)
    assert [type(each) for each in out] == [Forget, Publish, Sync]
    assert sync_of(out).plan.make_sandbox == 0


def test_a_complete_roster_ends_what_it_does_not_list_and_an_incomplete_one_does_not() -> None:
    shard = running(machine(complete=False))
    assert shard.handle(T0 + 9, Roster((), False)) == []
    assert sync_of(shard.handle(T0 + 10, Roster((), True))).plan == kill(30)


def test_an_orphan_is_left_alone_until_all_sources_were_seen_then_gets_one_second() -> None:
    shard = ShardMachine(POLICY)
    foreign = observed(T0, [sandbox(source="api")], [container()])
    assert shard.handle(T0, READY, foreign, ObservedRoster(("u1",), T0), Roster((), False)) == []
    sync = sync_of(shard.handle(T0 + 1, Roster((), True)))
    assert (sync.plan, sync.pod) == (kill(1), None)
    assert finish(shard, sync, T0 + 2) == [Forget("u1", "default", "web")]


def test_a_pod_whose_body_is_still_on_its_way_is_no_orphan() -> None:
    shard = ShardMachine(POLICY)
    seen = observed(T0, [sandbox()], [container()])
    assert shard.handle(T0, READY, seen, ObservedRoster(("u1",), T0), Roster(("u1",), True)) == []


def test_a_static_pod_whose_file_went_while_nobody_watched_gets_its_own_grace() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, observed(T0, [sandbox()], [container(grace_s=12)]), ObservedRoster(("u1",), T0))
    assert sync_of(shard.handle(T0 + 1, Roster((), True))).plan == kill(12)


def test_src_3_an_older_edition_stops_before_the_new_one_starts_though_not_all_sources_were_seen() -> None:
    shard = ShardMachine(POLICY)
    foreign = observed(T0, [sandbox("s7", source="api")], [container("api7", sandbox_id="s7")], uid="u7", name="api7")
    old = observed(T0, [sandbox()], [container()])
    shard.handle(T0, READY, foreign, old, ObservedRoster(("u1", "u7"), T0), Roster((), False))
    out = shard.handle(T0 + 1, wanted(uid="u-new"))
    assert [(each.uid, each.plan) for each in syncs(out)] == [("u1", kill(30))]
    shard.handle(T0 + 2, synced(sync_of(out), T0 + 2))
    out = shard.handle(T0 + 3, stopped(T0 + 3))  # type: ignore[arg-type]
    assert {each.uid: each.plan.make_sandbox for each in syncs(out)} == {"u1": None, "u-new": 0}


def test_src_3_the_order_of_wish_and_view_does_not_matter() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, wanted(uid="u-new"), observed(T0, [sandbox()], [container()]))
    out = shard.handle(T0 + 1, ObservedRoster(("u1",), T0))
    assert [(each.uid, each.plan) for each in syncs(out)] == [("u1", kill(30))]


def test_an_edited_pod_waits_for_its_predecessor_whichever_news_comes_first() -> None:
    for first_gone in (True, False):
        shard = running()
        news = [GONE, wanted(uid="u2")]
        sync = sync_of(shard.handle(T0 + 9, *(news if first_gone else news[::-1])))
        assert sync.uid == "u1"
        shard.handle(T0 + 10, synced(sync, T0 + 10))
        out = shard.handle(T0 + 11, stopped(T0 + 11))  # type: ignore[arg-type]
        assert [each.uid for each in syncs(out)] == ["u1", "u2"]


def test_a_foreign_pod_of_the_same_name_is_waited_for_and_not_ended() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, observed(T0, [sandbox(source="api")], [container()]), ObservedRoster(("u1",), T0))
    assert syncs(shard.handle(T0 + 1, wanted(uid="u-new"))) == []


def test_editions_wait_in_the_order_of_their_arrival() -> None:
    shard = running()
    shard.handle(T0 + 9, wanted(uid="u2"), wanted(uid="u3"))
    sync = sync_of(shard.handle(T0 + 9.5, GONE))
    out = shard.handle(T0 + 11, synced(sync, T0 + 10), stopped(T0 + 11))  # type: ignore[arg-type]
    assert [each.uid for each in syncs(out)] == ["u1", "u2"]


def test_drain_stops_everything_restarts_nothing_and_answers_once() -> None:
    shard = running()
    sync = sync_of(shard.handle(T0 + 9, Drain()))
    assert sync.plan == kill(30)
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    out = shard.handle(T0 + 11, stopped(T0 + 11))  # type: ignore[arg-type]
    assert AllStopped() in out
    assert not [each for each in out if isinstance(each, Sync | Forget)]
    assert syncs(shard.handle(T0 + 12, wanted(uid="u2", name="late"))) == []
    assert shard.handle(T0 + 13, Drain()) == []


def test_drain_of_an_empty_shard_answers_at_once() -> None:
    assert machine().handle(T0 + 1, Drain()) == [AllStopped()]


def test_the_drain_of_a_shard_that_begins_anew_is_over_when_its_pods_are_known_and_stopped() -> None:
    shard = ShardMachine(POLICY)
    assert shard.handle(T0, READY, Drain()) == []
    assert AllStopped() not in shard.handle(T0 + 1, Roster(("u1",), True))
    assert AllStopped() not in shard.handle(T0 + 2, wanted())
    shard.handle(T0 + 3, observed(T0 + 3, [sandbox()], [container()]))
    out = shard.handle(T0 + 4, ObservedRoster(("u1",), T0 + 3))
    assert (sync_of(out).plan, AllStopped() in out) == (kill(30), False)
    shard.handle(T0 + 5, synced(sync_of(out), T0 + 5))
    assert AllStopped() in shard.handle(T0 + 6, stopped(T0 + 6))  # type: ignore[arg-type]


def test_a_drain_stops_also_a_pod_whose_body_cannot_be_read() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, observed(T0, [sandbox()], [container()]), ObservedRoster(("u1",), T0))
    shard.handle(T0 + 1, Unreadable("u1", "default", "web", "torn"), Roster(("u1",), True))
    out = shard.handle(T0 + 2, Drain())
    assert [kill.name for kill in sync_of(out).plan.kill] == ["main"]
    assert AllStopped() not in out
    out = shard.handle(T0 + 4, synced(sync_of(out), T0 + 3), observed(T0 + 3.5, [sandbox(ready=False)], [exited()]))
    assert AllStopped() in out


def test_a_drain_waits_for_the_roster_of_the_sources_and_then_ends_orphans_too() -> None:
    shard = ShardMachine(POLICY)
    foreign = observed(T0, [sandbox(source="api")], [container()])
    assert AllStopped() not in shard.handle(T0, READY, Drain(), foreign, ObservedRoster(("u1",), T0))
    out = shard.handle(T0 + 1, Roster((), True))
    assert (sync_of(out).plan, AllStopped() in out) == (kill(1), False)


def test_a_drain_does_not_wait_for_a_source_that_is_away_once_nothing_runs() -> None:
    shard = running(machine(complete=False))
    sync = sync_of(shard.handle(T0 + 9, Drain()))
    shard.handle(T0 + 10, synced(sync, T0 + 10))
    assert AllStopped() in shard.handle(T0 + 11, stopped(T0 + 11))  # type: ignore[arg-type]


def test_a_drain_waits_a_little_for_views_that_were_overtaken() -> None:
    shard = ShardMachine(POLICY)
    out = shard.handle(T0, READY, Drain(), Roster((), True), ObservedRoster(("u1",), T0))
    assert out == [WakeAt("", T0 + 3)]
    assert shard.handle(T0 + 3, Woke("")) == [AllStopped()]


def test_drain_breaks_a_running_start_off() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    assert shard.handle(T0 + 2, Drain()) == [CancelSync("u1", sync.plan_id)]


def test_a_pod_that_ended_while_unseen_by_its_shard_is_not_run_again() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, observed(T0, [sandbox(ready=False)], [exited("c0", T0, 0)]), wanted(pod(restart="Never")))
    out = shard.handle(T0 + 1, ObservedRoster(("u1",), T0))
    assert status_of(out)["phase"] == "Succeeded"
    assert plans(out) == [RELEASE]


def test_forgotten_pods_are_remembered_for_a_while_only() -> None:
    shard = machine()
    for number in range(2000):
        at = T0 + 10 * number
        uid = f"u{number}"
        shard.handle(at, wanted(uid=uid, name=uid))
        out = shard.handle(at + 1, Gone(uid, "default", uid, "deleted"))
        (record,) = shard._herd.records.values()
        assert record.running is not None
        cancelled = Synced(uid, record.running.plan_id, at + 2, (), did=False, cancelled=True)
        removal = sync_of(shard.handle(at + 2, cancelled))
        out = shard.handle(at + 3, synced(removal, at + 3, did=False))
        assert Forget(uid, "default", uid) in out
    assert len(shard._herd.buried) < 65
