"""From wanted to running, and adoption after a restart of the shard (kubelet behaviour, sections 2.3 and 15)."""

from tests.machines.pod.builders import (
    POLICY,
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

from podherd.machines.pod.events import Started, Unreadable, Woke
from podherd.machines.pod.instructions import CancelSync, LookAgain, Plan, Publish, Record, StartContainer, Sync, WakeAt
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.pod.policy import spread
from podherd.wire.desired import Roster
from podherd.wire.node import RuntimeState
from podherd.wire.observed import ObservedRoster, Reinspect


def test_a_new_pod_is_published_pending_and_planned_at_once() -> None:
    out = machine().handle(T0 + 1, wanted())
    assert [type(each) for each in out] == [Publish, Sync]
    assert sync_of(out) == Sync(
        "u1", "default", "web", 1, pod(), Plan(make_sandbox=0, start=(StartContainer("main", 0),))
    )
    assert status_of(out)["phase"] == "Pending"


def test_a_done_sync_asks_for_a_view_that_is_newer_than_it() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    out = shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    assert out == [LookAgain(Reinspect("u1", "default", "web", T0 + 2)), WakeAt("u1", T0 + 12)]


def test_nothing_is_planned_from_a_view_older_than_the_last_deed() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    assert shard.handle(T0 + 2.1, observed(T0 + 1.5, [sandbox()])) == []


def test_an_older_view_replaces_no_newer_one() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    shard.handle(T0 + 3, observed(T0 + 2.5, [sandbox()], [container()]))
    assert shard.handle(T0 + 4, observed(T0 + 2.2, [sandbox()])) == []


def test_the_newer_view_makes_it_running_and_only_a_resync_remains() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    out = shard.handle(T0 + 3, observed(T0 + 2.5, [sandbox()], [container()]))
    assert [type(each) for each in out] == [Publish, WakeAt]
    assert status_of(out)["phase"] == "Running"
    assert out[-1] == WakeAt("u1", T0 + 3 + 60 * spread("u1"))


def test_a_resync_without_news_says_only_when_the_next_one_is() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    shard.handle(T0 + 3, observed(T0 + 2.5, [sandbox()], [container()]))
    out = shard.handle(T0 + 200, Woke("u1"))
    assert out == [WakeAt("u1", T0 + 200 + 60 * spread("u1"))]


def test_the_same_wish_and_the_same_view_again_say_nothing() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    view = observed(T0 + 2.5, [sandbox()], [container()])
    shard.handle(T0 + 3, view)
    assert shard.handle(T0 + 4, view, wanted()) == []


def test_a_view_that_stays_away_is_asked_for_again() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    assert shard.handle(T0 + 11, Woke("u1")) == [WakeAt("u1", T0 + 12)]
    again = shard.handle(T0 + 12, Woke("u1"))
    assert again == [LookAgain(Reinspect("u1", "default", "web", T0 + 2)), WakeAt("u1", T0 + 22)]


def test_a_shard_that_knows_nothing_of_the_runtime_plans_nothing() -> None:
    shard = ShardMachine(POLICY)
    assert shard.handle(T0, READY, Roster(("u1",), True), wanted()) == []
    assert sync_of(shard.handle(T0 + 1, ObservedRoster((), T0 + 1))).plan.make_sandbox == 0


def test_after_a_restart_of_the_shard_a_running_container_is_adopted() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, wanted(), Roster(("u1",), True))
    assert shard.handle(T0 + 1, observed(T0 - 50, [sandbox()], [container()])) == []
    out = shard.handle(T0 + 1, ObservedRoster(("u1",), T0 + 1))
    assert [type(each) for each in out] == [Publish, WakeAt]
    assert status_of(out)["phase"] == "Running"


def test_a_listed_pod_whose_view_is_still_on_its_way_is_not_taken_for_absent() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, ObservedRoster(("u1",), T0))
    assert syncs(shard.handle(T0 + 1, wanted(), wanted(uid="u2", name="other"))) == []
    out = shard.handle(T0 + 2, observed(T0 - 5, [sandbox()], [container()]))
    assert [each.uid for each in syncs(out)] == ["u2"]


def test_a_new_edition_does_not_start_beside_one_whose_view_is_still_on_its_way() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, ObservedRoster(("u1",), T0))
    assert shard.handle(T0 + 1, wanted(uid="u-new")) == [WakeAt("u-new", T0 + 3)]
    out = shard.handle(T0 + 2, observed(T0 + 1.5, [sandbox()], [container()]))
    assert [each.uid for each in syncs(out)] == ["u1"]


def test_a_view_that_never_comes_holds_the_shard_for_three_seconds() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, ObservedRoster(("vanished",), T0), wanted())
    assert len(syncs(shard.handle(T0 + 3, Woke("u1")))) == 1


def test_a_pod_that_cannot_be_inspected_holds_no_other_one() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, ObservedRoster(("u1",), T0), wanted(), wanted(uid="u2", name="other"))
    out = shard.handle(T0 + 1, observed(T0 + 1, stale="deadline exceeded"))
    assert [each.uid for each in syncs(out)] == ["u2"]


def test_a_container_that_the_kubelet_made_is_adopted() -> None:
    shard = ShardMachine(POLICY)
    kubelets = container()
    del kubelets.annotations["podherd.io/container.hashScheme"]
    shard.handle(T0, READY, wanted(), observed(T0, [sandbox()], [kubelets]))
    assert syncs(shard.handle(T0 + 1, ObservedRoster(("u1",), T0 + 1))) == []


def test_the_start_time_survives_a_restart_of_the_shard() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0 + 500, READY, wanted(), observed(T0 + 500, [sandbox()], [container()]))
    assert status_of(shard.handle(T0 + 501, ObservedRoster(("u1",), T0 + 500)))["startTime"] == "2027-01-15T08:00:00Z"


def test_nothing_is_done_before_the_runtime_says_that_it_is_ready() -> None:
    shard = ShardMachine(POLICY)
    assert syncs(shard.handle(T0, ObservedRoster((), T0), wanted())) == []
    assert syncs(shard.handle(T0 + 1, RuntimeState(False, False, "starting", ""))) == []
    assert len(syncs(shard.handle(T0 + 2, READY))) == 1


def test_news_during_a_sync_waits_for_its_end() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    assert shard.handle(T0 + 1.5, observed(T0 + 1.4, [sandbox()]), Woke("u1")) == []
    out = shard.handle(T0 + 2, synced(sync, T0 + 2, Started("main", "c0", 0)))
    assert [type(each) for each in out] == [LookAgain, WakeAt]


def test_a_spec_edit_breaks_the_running_sync_off_once() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    edit = wanted(image="reg.test/app:2")
    assert shard.handle(T0 + 1.5, edit) == [CancelSync("u1", sync.plan_id)]
    assert shard.handle(T0 + 1.6, edit, wanted(image="reg.test/app:3")) == []
    shard.handle(T0 + 2, synced(sync, T0 + 2, cancelled=True))
    fresh = sync_of(shard.handle(T0 + 3, observed(T0 + 2.5, [sandbox()])))
    assert fresh.plan == Plan(sandbox_id="s0", start=(StartContainer("main", 0),))
    assert fresh.pod == pod(image="reg.test/app:3")


def test_a_metadata_edit_leaves_the_running_sync_alone() -> None:
    shard = machine()
    shard.handle(T0 + 1, wanted())
    assert shard.handle(T0 + 1.5, wanted(metadata={"labels": {"a": "b"}})) == []


def test_an_answer_to_an_older_plan_or_a_second_answer_says_nothing() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    assert shard.handle(T0 + 2, synced(Sync("u1", "", "", 99, None, Plan()), T0 + 2)) == []
    shard.handle(T0 + 2, synced(sync, T0 + 2))
    assert shard.handle(T0 + 3, synced(sync, T0 + 3)) == []


def test_a_pod_that_cannot_be_inspected_waits_and_says_so_once() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2))
    out = shard.handle(T0 + 3, observed(T0 + 2.5, stale="deadline exceeded"))
    assert [(each.event.reason, each.event.message) for each in out if isinstance(each, Record)] == [
        ("FailedSync", "error determining status: deadline exceeded")
    ]
    assert syncs(out) == []
    assert shard.handle(T0 + 4, observed(T0 + 3.5, stale="deadline exceeded")) == []
    assert sync_of(shard.handle(T0 + 5, observed(T0 + 4.5, [sandbox()]))).plan.start == (StartContainer("main", 0),)


def test_an_unreadable_pod_is_reported_and_what_runs_is_kept() -> None:
    shard = ShardMachine(POLICY)
    shard.handle(T0, READY, observed(T0, [sandbox()], [container()]), ObservedRoster(("u1",), T0))
    out = shard.handle(T0 + 1, Unreadable("u1", "default", "web", "spec: odd"), Roster(("u1",), True))
    assert [each.event.message for each in out if isinstance(each, Record)] == ["spec: odd"]
    assert status_of(out) == {"phase": "Pending", "reason": "Unreadable", "message": "spec: odd"}
    assert syncs(out) == []


def test_the_shell_can_ask_for_pods_and_for_what_was_published() -> None:
    shard = machine()
    shard.handle(T0 + 1, wanted())
    assert shard.pod("u1") == pod()
    assert shard.find("default", "web") == (pod(), "file web.yaml created")
    assert shard.pod("u2") is None
    assert shard.find("default", "other") is None
    assert [each.uid for each in shard.published()] == ["u1"]


def test_a_clock_set_back_does_not_blind_the_machine() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 1, wanted()))
    shard.handle(T0 + 2, synced(sync, T0 + 2))
    for back in (T0 - 10, T0 - 3600):
        out = shard.handle(back, observed(back - 1, [sandbox()], [container()]))
        assert LookAgain(Reinspect("u1", "default", "web", back)) in out
    out = shard.handle(T0 - 3598, observed(T0 - 3599, [sandbox()], [container()]))
    assert status_of(out)["phase"] == "Running"
    out = shard.handle(T0 - 3610, observed(T0 - 3611, [sandbox()], [exited()]))
    assert status_of(out)["containerStatuses"][0]["state"].keys() == {"terminated"}


def test_a_view_that_was_on_its_way_while_the_clock_was_set_back_outlives_no_later_one() -> None:
    shard = machine()
    shard.handle(T0 + 2, synced(sync_of(shard.handle(T0 + 1, wanted())), T0 + 2))
    shard.handle(T0 - 8, observed(T0 + 3, [sandbox()], [container()]))
    out = shard.handle(T0 - 6, observed(T0 - 7, [sandbox()], [exited()]))
    assert status_of(out)["containerStatuses"][0]["state"].keys() == {"terminated"}


def test_a_view_dated_a_little_ahead_of_the_clock_leads_to_another_look_and_to_no_plan() -> None:
    """It is from before the clock was set back, maybe older than the last deed."""
    shard = machine()
    sync = sync_of(shard.handle(T0 + 11, wanted()))
    shard.handle(T0 + 9, synced(sync, T0 + 9, Started("main", "c0", 0)))
    out = shard.handle(T0 + 9.1, observed(T0 + 9.8, [sandbox()]))
    assert out == [LookAgain(Reinspect("u1", "default", "web", T0 + 9.1)), WakeAt("u1", T0 + 19.1)]
    out = shard.handle(T0 + 9.3, observed(T0 + 9.2, [sandbox()], [container()]))
    assert syncs(out) == []
    assert status_of(out)["phase"] == "Running"


def test_a_roster_dated_a_little_ahead_of_the_clock_makes_no_second_sandbox() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 11, wanted()))
    shard.handle(T0 + 9, synced(sync, T0 + 9, Started("main", "c0", 0)))
    out = shard.handle(T0 + 9.1, ObservedRoster((), T0 + 9.8))
    assert out == [LookAgain(Reinspect("u1", "default", "web", T0 + 9.1)), WakeAt("u1", T0 + 19.1)]


def test_a_first_roster_from_before_the_clock_was_set_back_lets_the_shard_begin() -> None:
    shard = ShardMachine(POLICY)
    out = shard.handle(T0 - 600, READY, Roster((), True), wanted(), ObservedRoster((), T0))
    assert out[0] == LookAgain(Reinspect("u1", "default", "web", T0 - 600))
    assert len(syncs(shard.handle(T0 - 599, observed(T0 - 599.5)))) == 1


def test_a_deed_that_ended_before_the_clock_was_set_back_blinds_nobody() -> None:
    shard = machine()
    sync = sync_of(shard.handle(T0 + 11, wanted()))
    out = shard.handle(T0 - 600, synced(sync, T0 + 12, Started("main", "c0", 0)))
    assert LookAgain(Reinspect("u1", "default", "web", T0 - 600)) in out
    out = shard.handle(T0 - 598, observed(T0 - 599, [sandbox()], [container()]))
    assert status_of(out)["phase"] == "Running"
