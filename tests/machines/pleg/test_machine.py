"""The PLEG machine by scripts of events in virtual time."""

from itertools import pairwise
from random import Random
from typing import Any

import pytest

from podherd.machines.pleg import events as heard
from podherd.machines.pleg.rules import Rules
from podherd.model.keys import shard_of
from podherd.wire.control import Hello
from podherd.wire.observed import Reinspect

RUNNING = {"box": "ready", "c1": "running"}


def demand(uid: str, after: float) -> Reinspect:
    return Reinspect(uid, "ns", uid, after)


def test_the_next_relist_begins_relist_s_after_the_end_of_the_last(shell: Any) -> None:
    shell.list_s = 0.4
    shell.hear(heard.Woke())
    shell.run(5.0)
    assert shell.relists == pytest.approx([1000.0, 1001.4, 1002.8, 1004.2])


def test_a_new_pod_is_inspected_once_and_told_as_of_its_list(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(5.0)
    assert started.inspections("a") == 1
    (told,) = started.tells("a")
    assert told.at in started.relists
    assert [c.state for c in told.containers] == ["running"]


def test_nothing_is_looked_at_and_told_while_nothing_changes(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    looks, tells = len(started.looks), len(started.told)
    started.run(60.0)
    assert (len(started.looks), len(started.told)) == (looks, tells)


def test_a_pod_that_the_runtime_lost_is_told_empty_without_a_call(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    looks = len(started.looks)
    del started.pods["a"]
    started.run(2.0)
    last = started.last("a")
    assert (last.sandboxes, last.containers, last.stale) == ((), (), "")
    assert len(started.looks) == looks
    assert not started.machine._lanes


def test_a_demand_is_answered_by_a_view_newer_than_the_deed(started: Any) -> None:
    started.run(0.2)
    started.pods["a"] = dict(RUNNING)
    deed_at = started.now
    started.run(0.001)
    started.hear(demand("a", deed_at))
    started.run(0.01)
    assert started.last("a").at > deed_at
    assert [what for _, what, _ in started.looks] == ["locate", "inspect"]


def test_a_demand_that_finds_nothing_new_is_answered_without_an_inspection(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    deed_at = started.now
    started.run(0.001)
    started.hear(demand("a", deed_at))
    started.run(0.1)
    assert started.inspections("a") == 1
    assert started.last("a").at > deed_at
    assert started.last("a").containers


def test_a_demand_older_than_the_last_view_gets_that_view_again(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    looks = len(started.looks)
    started.hear(demand("a", started.last("a").at - 0.1))
    assert len(started.looks) == looks
    assert len(started.tells("a")) == 2


def test_a_demand_for_a_pod_that_is_not_there_is_answered_empty(started: Any) -> None:
    started.run(0.1)
    deed_at = started.now
    started.run(0.001)
    started.hear(demand("gone", deed_at))
    started.run(5.0)
    last = started.last("gone")
    assert (last.sandboxes, last.containers) == ((), ())
    assert last.at > deed_at
    assert len(started.tells("gone")) == 1
    assert not started.machine._lanes


def test_what_a_demand_has_shown_is_not_inspected_again_by_the_relist(started: Any) -> None:
    started.run(0.2)
    started.pods["a"] = dict(RUNNING)
    started.hear(demand("a", started.now - 0.001))
    started.run(3.0)
    assert started.inspections("a") == 1
    assert len(started.tells("a")) == 1


def test_what_only_a_demand_has_shown_and_is_gone_before_the_relist_is_told_as_gone(started: Any) -> None:
    started.run(0.2)
    started.pods["a"] = dict(RUNNING)
    started.hear(demand("a", started.now - 0.001))
    started.run(0.1)
    del started.pods["a"]
    started.run(2.0)
    assert started.last("a").containers == ()


def test_a_rush_of_demands_is_served_by_early_relists(started: Any) -> None:
    started.run(0.2)
    relists = len(started.relists)
    for number in range(200):
        uid = f"p{number}"
        started.pods[uid] = dict(RUNNING)
        started.hear(demand(uid, started.now - 0.0001))
        started.run(0.001)
    started.run(0.3)
    assert all(started.tells(f"p{number}") for number in range(200))
    assert sum(1 for _, what, _ in started.looks if what == "locate") <= Rules(1).few
    assert 1 <= len(started.relists) - relists <= 5


def test_many_that_wait_for_a_slow_relist_are_served_by_the_next_one(shell: Any) -> None:
    """Also once their rush is over: one list each would come down on a runtime that is slow already."""
    shell.list_s = 3.0
    shell.hear(heard.Woke())
    shell.run(4.1)
    assert len(shell.relists) == 2
    for number in range(200):
        shell.pods[f"p{number}"] = dict(RUNNING)
        shell.hear(demand(f"p{number}", shell.now - 0.0001))
    shell.run(1.5)
    shell.hear(demand("late", shell.now - 0.0001))
    shell.run(6.0)
    assert all(shell.tells(f"p{number}") for number in range(200))
    assert sum(1 for _, what, _ in shell.looks if what == "locate") <= Rules(1).few


def test_early_relists_are_rarer_the_dearer_they_are(shell: Any) -> None:
    shell.list_s = 0.1
    shell.hear(heard.Woke())
    shell.run(1.0)
    begun = len(shell.relists)
    for number in range(400):
        shell.pods[f"p{number}"] = dict(RUNNING)
        shell.hear(demand(f"p{number}", shell.now - 0.0001))
        shell.run(0.01)
    gaps = [b - a for a, b in pairwise(shell.relists[begun:])]
    assert min(gaps) >= 0.8 - 1e-6


def test_a_stop_hint_is_followed_at_once_and_one_that_is_known_is_not(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    started.pods["a"]["c1"] = "exited"
    started.hear(heard.Stopped("a", "c1"))
    started.run(0.01)
    assert started.last("a").containers[0].state == "exited"
    looks = len(started.looks)
    started.run(3.0)
    started.hear(heard.Stopped("a", "c1"))
    started.run(0.01)
    assert len(started.looks) == looks


def test_a_failed_look_is_told_as_stale_with_what_was_known_and_tried_ever_later(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    started.look_s = lambda _uid: 99.0
    started.pods["a"]["c1"] = "exited"
    started.run(100.0)
    last = started.last("a")
    assert "10 s" in last.stale
    assert [c.state for c in last.containers] == ["running"]
    begun = [at for at, _, uid in started.looks if uid == "a"][1:]
    pauses = [round(b - a - 10.0) for a, b in pairwise(begun)]
    assert pauses == [1, 2, 4, 8, 16]
    assert started.health[-1].stale_pods == ("a",)
    started.look_s = lambda _uid: 0.0
    started.run(40.0)
    assert started.last("a").stale == ""
    assert started.last("a").containers[0].state == "exited"
    assert started.health[-1].stale_pods == ()


def test_hung_pods_do_not_hold_the_others(started: Any) -> None:
    hung = [f"h{number}" for number in range(64)]
    started.look_s = lambda uid: 99.0 if uid in hung else 0.0
    started.pods.update({uid: dict(RUNNING) for uid in hung})
    started.run(3.0)
    started.pods.update({f"ok{number}": dict(RUNNING) for number in range(100)})
    started.run(12.0)
    assert all(started.tells(f"ok{number}") for number in range(100))
    assert max(started.most_flying.values()) == 1


def test_looks_are_bounded(started: Any) -> None:
    started.look_s = lambda _uid: 0.05
    started.pods.update({f"p{number}": dict(RUNNING) for number in range(100)})
    started.run(0.6)
    assert 0 < sum(started.flying.values()) <= Rules(1).parallel


def test_the_first_roster_follows_every_view_of_its_pods(shell: Any) -> None:
    shell.look_s = lambda _uid: 0.05
    shell.pods = {f"p{number}": dict(RUNNING) for number in range(60)}
    shell.hear(heard.Woke())
    shell.run(5.0)
    assert {shard for _, shard, _ in shell.rosters} == {0, 1}
    for at, shard, roster in shell.rosters:
        mine = {uid for uid in shell.pods if shard_of("ns", uid, 2) == shard}
        assert set(roster.uids) == mine
        assert roster.at == shell.relists[0]
        assert mine <= {observed.uid for told_at, observed in shell.told if told_at <= at}


def test_a_roster_does_not_wait_for_a_hung_pod(shell: Any) -> None:
    shell.look_s = lambda uid: 99.0 if uid == "p7" else 0.0
    shell.pods = {f"p{number}": dict(RUNNING) for number in range(20)}
    shell.hear(heard.Woke())
    shell.run(3.0)
    assert len(shell.rosters) == 2
    assert shell.last("p7").stale
    shell.look_s = lambda _uid: 0.0
    shell.run(15.0)
    assert shell.last("p7").stale == ""


def test_a_shard_that_begins_anew_hears_all_of_its_pods_then_their_roster(started: Any) -> None:
    started.pods.update({f"p{number}": dict(RUNNING) for number in range(10)})
    started.run(3.0)
    looks, tells, rosters = len(started.looks), len(started.told), len(started.rosters)
    asked_at = started.now
    started.hear(Hello("pod_shard-1"))
    started.run(2.0)
    mine = {uid for uid in started.pods if shard_of("ns", uid, 2) == 1}
    assert {observed.uid for _, observed in started.told[tells:]} == mine
    ((_, shard, roster),) = started.rosters[rosters:]
    assert (shard, set(roster.uids)) == (1, mine)
    assert min(at.at for at in (roster, *(observed for _, observed in started.told[tells:]))) >= asked_at
    assert len(started.looks) == looks


def test_a_hello_in_the_middle_of_a_relist_is_answered_by_the_next(shell: Any) -> None:
    shell.list_s = 1.0
    shell.hear(heard.Woke())
    shell.run(0.5)
    shell.hear(Hello("pod_shard-0"))
    shell.run(1.0)
    assert [shard for _, shard, _ in shell.rosters] == [1]
    shell.run(4.0)
    assert [shard for _, shard, _ in shell.rosters] == [1, 0]


def test_a_failed_relist_is_tried_again_and_forgets_nothing(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    started.list_fails = "CRI ListPodSandbox: connection refused"
    last = started.health[-1].last_relist_at
    tells = len(started.told)
    started.run(20.0)
    assert len(started.told) == tells
    assert started.health[-1].last_relist_at - last <= 5.0
    started.list_fails = ""
    started.run(2.0)
    assert started.tells("a") == [started.last("a")]


def test_health_is_told_at_most_every_five_seconds(started: Any) -> None:
    started.run(60.0)
    assert 10 <= len(started.health) <= 14


def test_addresses_of_a_stopped_sandbox_stay_known(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    started.pods["a"]["box"] = "notready"
    started.run(3.0)
    (sandbox,) = started.last("a").sandboxes
    assert (sandbox.ready, sandbox.ips) == (False, ("10.0.0.1",))


def test_a_clock_set_back_leads_to_new_views_of_everything(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    tells = len(started.tells("a"))
    started.now -= 600.0
    started._alarm = started.now
    started.run(2.0)
    started.pods["a"]["c1"] = "exited"
    started.run(2.0)
    assert len(started.tells("a")) >= tells + 2
    assert started.last("a").containers[0].state == "exited"
    assert started.last("a").at <= started.now


def test_a_view_from_before_a_small_step_of_the_clock_answers_no_demand(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.run(3.0)
    told = len(started.tells("a"))
    started.now -= 0.7
    started._alarm = started.now
    started.hear(demand("a", started.now - 0.01))
    assert len(started.tells("a")) == told
    started.run(2.0)
    assert len(started.tells("a")) > told
    assert started.last("a").at <= started.now


def test_a_look_that_failed_before_the_clock_was_set_back_is_made_again_after_the_next_list(started: Any) -> None:
    """A view of no list would have no time, and count as older than what its shard knows."""
    started.pods["a"] = dict(RUNNING)
    started.look_s = lambda _uid: 20.0
    while not started.tells("a") or started.flying["a"]:
        started.run(0.1)
    assert started.last("a").stale
    started.now -= 300.0
    started._alarm, started.look_s, started.list_fails = started.now, lambda _uid: 0.0, "away"
    started._due = [(at - 300.0, *rest) for at, *rest in started._due]
    started.run(5.0)
    started.list_fails = ""
    started.run(5.0)
    assert not started.last("a").stale
    assert all(view.stale or view.at > 0 for view in started.tells("a"))


def test_an_inspection_begun_before_the_clock_was_set_back_is_not_told_but_made_anew(started: Any) -> None:
    started.pods["a"] = dict(RUNNING)
    started.look_s = lambda _uid: 5.0
    started.run(2.0)
    assert started.flying["a"] == 1
    started.now -= 600.0
    started._alarm, started.look_s = started.now, lambda _uid: 0.0
    started._due = [(at - 600.0, *rest) for at, *rest in started._due]
    started.run(8.0)
    assert [view.at <= at for at, view in started.told if view.uid == "a"] == [True]


def test_pleg_1_one_hung_inspection_holds_nobody(shell: Any) -> None:
    """Case PLEG-1: 400 pods, pod 17 hangs twice; 50 exits are seen within two relist periods, one call in flight."""
    pods = [f"pod{number}" for number in range(400)]
    shell.pods = {uid: dict(RUNNING) for uid in pods}
    shell.look_s = lambda _uid: 0.005
    shell.list_s = 0.005
    shell.hear(heard.Woke())
    shell.run(8.0)
    hangs = [0]

    def seconds(uid: str) -> float:
        if uid == "pod17" and hangs[0] < 2:
            hangs[0] += 1
            return 120.0
        return 0.005

    shell.look_s = seconds
    shell.pods["pod17"]["c1"] = "exited"
    shell.run(2.0)
    killed_at = shell.now
    for uid in pods[100:150]:
        shell.pods[uid]["c1"] = "exited"
    shell.run(2.1)
    for uid in pods[100:150]:
        assert shell.last(uid).containers[0].state == "exited", uid
    shell.run(40.0)
    gaps = [b - a for a, b in pairwise(shell.relists)]
    assert max(gaps) < 1.1
    stale = {observed.uid for _, observed in shell.told if observed.stale}
    assert stale == {"pod17"}
    assert shell.most_flying["pod17"] == 1
    assert all(set(health.stale_pods) <= {"pod17"} for health in shell.health)
    assert ("pod17",) in [health.stale_pods for health in shell.health]
    assert shell.health[-1].stale_pods == ()
    assert shell.last("pod17").containers[0].state == "exited"
    assert shell.now - killed_at > 40


def _disturb(shell: Any, dice: Random) -> None:
    """One random thing: a change of the runtime, a demand, a hint, a restart of a shard, trouble that comes or goes."""
    uid = f"p{dice.randrange(12)}"
    match dice.randrange(9):
        case 0 | 1:
            shell.pods[uid] = {f"{uid}-box{dice.randrange(2)}": "ready", f"{uid}-c{dice.randrange(4)}": "running"}
        case 2:
            shell.pods.pop(uid, None)
        case 3 if uid in shell.pods:
            shell.pods[uid] = {
                i: dice.choice(["ready", "notready"] if "box" in i else ["running", "exited"]) for i in shell.pods[uid]
            }
        case 4 | 5:
            shell.hear(demand(uid, shell.now - 0.0001))
        case 6:
            shell.hear(heard.Stopped(uid, f"{uid}-c{dice.randrange(4)}"))
        case 7:
            shell.hear(Hello(f"pod_shard-{dice.randrange(2)}"))
        case 8:
            shell.list_fails = dice.choice(["", "", "away"])
            slow = dice.choice([0.0, 0.01, 3.0, 99.0])
            shell.look_s = lambda looked: slow if looked == uid else 0.003


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens_the_last_word_on_each_pod_is_the_truth(shell: Any, seed: int) -> None:
    dice = Random(seed)
    shell.list_s = dice.choice([0.0, 0.02, 0.3])
    shell.look_s = lambda _uid: 0.003
    shell.hear(heard.Woke())
    for _ in range(200):
        _disturb(shell, dice)
        shell.run(dice.choice([0.0, 0.001, 0.05, 0.7]))
    shell.list_fails, shell.look_s = "", lambda _uid: 0.003
    shell.run(60.0)
    for uid in {observed.uid for _, observed in shell.told} | set(shell.pods):
        last = shell.last(uid)
        assert last.stale == ""
        held = {s.id: "ready" if s.ready else "notready" for s in last.sandboxes} | {
            c.id: c.state for c in last.containers
        }
        assert held == shell.pods.get(uid, {}), uid
        times = [told.at for told in shell.tells(uid) if not told.stale]
        assert times == sorted(times), uid
    assert max(shell.most_flying.values()) == 1
    assert set(shell.machine._lanes) == set(shell.pods)
    assert not shell.machine._unsure
    assert not shell.machine._unlisted
    assert not shell.machine._retries


def test_a_rush_does_not_hurry_relists_that_fail(started: Any) -> None:
    started.list_fails = "away"
    started.run(2.0)
    begun = len(started.relists)
    for number in range(100):
        started.hear(demand(f"p{number}", started.now - 0.0001))
        started.run(0.05)
    assert len(started.relists) - begun <= 6
