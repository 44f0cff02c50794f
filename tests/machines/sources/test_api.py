"""The sources machine with an API server: its pods, the node's word on them, and what the status actor is told."""

from dataclasses import replace

import pytest
from tests.machines.admission.asking import FACTS, body

from podherd.machines.admission import Admission
from podherd.machines.sources import SourcesMachine
from podherd.machines.sources.events import (
    ApiDropped,
    ApiItem,
    ApiListed,
    ApiPut,
    NodeLooked,
    OriginGone,
    OriginRead,
    ShardStarted,
    SourceListed,
    Started,
    StaticPod,
    StatusStarted,
)
from podherd.machines.sources.instructions import List, LookAtNode, Preempt, Remove, TellStatus, Upsert, Warn
from podherd.model.keys import CONFIG_SEEN, shard_of
from podherd.wire import codec
from podherd.wire.api import ApiPod, ApiPodGone, ApiRoster
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.status import PodOver

SHARDS = 2
RUNNING = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}


def _packed(pod):
    pod["metadata"]["annotations"] = {CONFIG_SEEN: "s"}
    return codec.pack(pod)


def _static(name, uid=None, **how):
    pod = body(name, static=True, **how)
    uid = pod["metadata"]["uid"] = uid or f"s-{name}"
    return StaticPod(uid, "default", name, uid, _packed(pod))


def _file(name, uid=None, **how):
    return OriginRead("file", f"/m/{name}", (_static(name, uid, **how),))


def _item(name, content="1", *, uid=None, version="1", mirror_of="", echo=False, refused="", **how):
    pod = body(name, **how)
    uid = pod["metadata"]["uid"] = uid or f"u-{name}"
    data = b"" if mirror_of or echo else _packed(pod)
    message = "why" if refused else ""
    status = codec.pack(pod["status"])
    return ApiItem(uid, "default", name, version, False, mirror_of, content, data, status, refused, message)


def _listed(*items):
    return ApiListed(items, tuple(item.uid for item in items))


def _brief(told):
    words = []
    for one in told:
        match one:
            case Upsert(shard, desired):
                assert shard == shard_of("default", desired.name, SHARDS)
                words.append(f"+{desired.uid}" + (f" {desired.refused}" if desired.refused else ""))
            case Remove(_, gone):
                words.append(f"-{gone.uid}")
            case List(shard, roster):
                words.append(f"={shard} {'complete' if roster.complete else 'partial'} {' '.join(sorted(roster.uids))}")
            case Preempt(_, order):
                words.append(f"x{order.uid}")
            case LookAtNode():
                words.append("look")
            case Warn(problem):
                words.append(f"!{problem.thing}: {problem.problem}")
    return words


def _status(told):
    """What the status actor is told: `+uid`, `-uid`, `=complete uids` of static pods; `api…` of API pods."""
    words = []
    for one in told:
        match one:
            case TellStatus(Desired() as desired):
                words.append(f"+{desired.uid}")
            case TellStatus(Gone() as gone):
                words.append(f"-{gone.uid}")
            case TellStatus(Roster() as roster):
                words.append(f"={'complete' if roster.complete else 'partial'} {' '.join(roster.uids)}".strip())
            case TellStatus(ApiPod() as pod):
                words.append(f"api+{pod.uid}@{pod.resource_version}{' mirror' if pod.mirror_of else ''}")
            case TellStatus(ApiPodGone() as gone):
                words.append(f"api-{gone.uid}")
            case TellStatus(ApiRoster() as roster):
                words.append(f"api={' '.join(roster.uids)}")
    return words


class Machine:
    """The machine, and what it says."""

    def __init__(self, *, facts=True, listed=True, may_look=False, **changed):
        self.machine = SourcesMachine(SHARDS, ("file", "api"), Admission(may_look))
        self.say(Started())
        if facts:
            self.say(replace(FACTS, **changed))
        if listed:
            self.say(SourceListed("file"), ApiListed((), ()))

    def say(self, *events):
        return self.machine.handle(1.0, *events)

    def brief(self, *events):
        return _brief(self.say(*events))


def test_an_api_pod_goes_to_its_shard_and_its_state_to_the_status_actor():
    machine = Machine()
    told = machine.say(ApiPut(_item("a")))
    assert _brief(told) == ["+u-a"]
    assert _status(told) == ["api+u-a@1"]
    desired = next(one.message for one in told if isinstance(one, Upsert))
    assert (desired.source, desired.cause) == ("api", "api default/a created")


def test_a_status_echo_is_told_to_the_status_actor_alone():
    machine = Machine()
    machine.say(ApiPut(_item("a")))
    told = machine.say(ApiPut(_item("a", version="2", echo=True, status=RUNNING)))
    assert (_brief(told), _status(told)) == ([], ["api+u-a@2"])
    assert machine.say(ApiPut(_item("a", version="2", echo=True, status=RUNNING))) == []


def test_a_change_is_told_and_a_drop_takes_the_pod_away():
    machine = Machine()
    machine.say(ApiPut(_item("a")))
    assert machine.brief(ApiPut(_item("a", "2", version="2"))) == ["+u-a"]
    told = machine.say(ApiDropped("u-a"))
    assert (_brief(told), _status(told)) == (["-u-a"], ["api-u-a"])
    assert machine.say(ApiDropped("u-a")) == []


def test_a_list_takes_away_what_it_does_not_hold():
    machine = Machine()
    machine.say(_listed(_item("a"), _item("b")))
    told = machine.say(ApiListed((_item("c"),), ("u-b", "u-c")))
    assert _brief(told) == ["-u-a", "+u-c"]
    assert _status(told) == ["api-u-a", "api+u-c@1", "api=u-b u-c"]


def test_a_new_pod_of_an_old_name_takes_its_place():
    machine = Machine()
    machine.say(ApiPut(_item("a")))
    assert machine.brief(ApiPut(_item("a", "2", uid="u2"))) == ["-u-a", "+u2"]
    assert machine.brief(ApiDropped("u-a")) == []


def test_mirror_pods_are_told_to_the_status_actor_and_never_run():
    machine = Machine()
    told = machine.say(ApiPut(_item("a", mirror_of="h")))
    assert (_brief(told), _status(told)) == ([], ["api+u-a@1 mirror"])
    assert _status(machine.say(ApiDropped("u-a"))) == ["api-u-a"]


def test_a_static_pod_wins_the_name_of_an_api_pod_and_gives_it_back():
    machine = Machine()
    machine.say(ApiPut(_item("a")))
    assert machine.brief(_file("a")) == ["-u-a", "+s-a", "!default/a: " + (
        "pod default/a is also declared by /m/a, which is used: source file comes before api")]  # fmt: skip
    assert machine.brief(OriginGone("file", "/m/a")) == ["-s-a", "+u-a", "!default/a: "]


def test_static_pods_go_to_the_status_actor_with_their_roster():
    machine = Machine(listed=False)
    assert _status(machine.say(_file("a"))) == ["+s-a"]
    assert _status(machine.say(SourceListed("file"))) == ["=partial s-a"]
    assert _status(machine.say(ApiListed((), ()))) == ["api=", "=complete s-a"]
    assert _status(machine.say(OriginRead("file", "/m/a", (_static("a", "s2"),)))) == ["-s-a", "+s2"]


def test_static_pods_wait_for_the_node_and_not_for_the_api_server():
    machine = Machine(facts=False, listed=False)
    assert machine.brief(_file("a"), SourceListed("file")) == []
    assert machine.brief(FACTS)[0] == "+s-a"
    assert machine.brief(_file("b")) == ["+s-b"]


def test_nothing_is_removed_before_the_api_server_was_heard():
    machine = Machine(listed=False)
    machine.say(_file("a"), SourceListed("file"))
    assert machine.brief(OriginGone("file", "/m/a")) == []
    told = machine.brief(_listed(_item("b", status=RUNNING)))
    assert told == ["+u-b", "-s-a", *told[2:]]
    assert [word for word in told[2:] if "complete" in word] == told[2:]


def test_a_shard_hears_no_complete_roster_before_the_node_is_known():
    machine = Machine(facts=False)
    assert machine.brief(ShardStarted(0)) == ["=0 partial "]
    assert machine.brief(FACTS) == ["=0 complete ", "=1 complete "]
    assert machine.brief(FACTS) == []


def test_a_status_actor_that_starts_hears_everything():
    machine = Machine()
    machine.say(_file("s"), _listed(_item("a"), _item("m", mirror_of="h")))
    told = machine.say(StatusStarted())
    assert _status(told) == ["api+u-a@1", "api+u-m@1 mirror", "api=u-a u-m", "+s-s", "=complete s-s"]
    assert _status(Machine(listed=False).say(StatusStarted())) == ["=partial"]


def test_a_refused_pod_leaves_with_its_reason_and_keeps_it():
    machine = Machine()
    (desired,) = [
        one.message for one in machine.say(ApiPut(_item("a", requests={"cpu": "3"}))) if isinstance(one, Upsert)
    ]
    assert desired.refused == "OutOfcpu"
    assert desired.refused_message == "Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000"
    assert machine.brief(ApiPut(_item("a", "2", version="2", requests={"cpu": "1"}))) == ["+u-a OutOfcpu"]
    assert machine.brief(ApiPut(_item("b", refused="PodFeatureUnsupported"))) == ["+u-b PodFeatureUnsupported"]
    assert machine.brief(ShardStarted(shard_of("default", "b", SHARDS)))[-2:][0].startswith("+u-")


def test_an_update_that_cannot_be_read_refuses_no_pod_that_runs():
    machine = Machine()
    machine.say(ApiPut(_item("a")))
    assert machine.brief(ApiPut(_item("a", "2", version="2", refused="UnexpectedAdmissionError"))) == ["+u-a"]


def test_a_pod_without_sense_is_refused_and_breaks_nothing():
    machine = Machine()
    broken = ApiItem("u", "default", "a", "1", False, "", "c", b"\xc1", b"")
    assert machine.brief(ApiPut(broken)) == ["+u UnexpectedAdmissionError"]
    assert machine.brief(ApiPut(_item("b"))) == ["+u-b"]


def test_after_a_restart_what_runs_is_admitted_before_what_is_new_by_age():
    machine = Machine(listed=False)
    old = _item("z", requests={"cpu": "1500m"}, status=RUNNING)
    machine.say(SourceListed("file"))
    assert machine.brief(_listed(_item("a", requests={"cpu": "1"}), old))[:2] == ["+u-z", "+u-a OutOfcpu"]


def test_what_is_over_frees_its_part_and_what_is_gone_too():
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "2"})))
    machine.say(PodOver("u-a"), PodOver("never heard of"))
    assert machine.brief(ApiPut(_item("b", requests={"cpu": "2"}))) == ["+u-b"]
    machine.say(ApiDropped("u-b"))
    assert machine.brief(ApiPut(_item("c", requests={"cpu": "2"}))) == ["+u-c"]


def test_an_edited_static_pod_does_not_stand_in_its_own_way():
    machine = Machine()
    ports = [{"name": "c", "image": "x", "ports": [{"hostPort": 80}]}]
    assert machine.brief(_file("a", "s1", containers=ports)) == ["+s1"]
    assert machine.brief(OriginRead("file", "/m/a", (_static("a", "s2", containers=ports),))) == ["-s1", "+s2"]


def test_a_critical_pod_ends_another_and_runs_once_that_is_over():
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "2"})))
    (preempt,) = machine.say(_file("s", requests={"cpu": "1"}))
    order = preempt.message
    assert (order.uid, order.reason, order.message) == (
        "u-a", "Preempting", "Preempted in order to admit critical pod")  # fmt: skip
    assert order.disruption == "Pod was preempted by Kubelet to accommodate a critical pod."
    assert preempt.shard == shard_of("default", "a", SHARDS)
    assert machine.brief(ShardStarted(preempt.shard))[-1] == "xu-a"
    assert machine.brief(PodOver("u-a")) == ["+s-s"]
    assert machine.brief(ShardStarted(preempt.shard))[-1] == "xu-a"
    machine.say(ApiDropped("u-a"))
    assert "xu-a" not in machine.brief(ShardStarted(preempt.shard))


def test_a_shard_that_starts_hears_what_the_api_server_knows_now():
    machine = Machine()
    machine.say(ApiPut(_item("a", status={"phase": "Pending"})), _file("s"))
    machine.say(ApiPut(_item("a", version="2", echo=True, status=RUNNING)))
    shard = shard_of("default", "a", SHARDS)
    told = [each.message for each in machine.say(ShardStarted(shard)) if isinstance(each, Upsert)]
    assert {each.uid: codec.unpack(each.body).get("status") for each in told}["u-a"] == RUNNING


@pytest.mark.parametrize("ends", [ApiDropped("u-a"), PodOver("u-a")])
def test_a_waiting_pod_that_was_edited_meanwhile_runs_as_it_is_then(ends):
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "2"})))
    machine.say(ApiPut(_item("b", requests={"cpu": "1"}, priority=2_000_000_000)))
    assert machine.brief(ApiPut(_item("b", "2", version="2", requests={"cpu": "1"}, priority=2_000_000_000))) == []
    assert machine.brief(ends)[-1] == "+u-b"
    assert len(machine.machine._waiting) == 0


def test_a_waiting_pod_is_on_the_roster_so_that_what_runs_of_it_goes_on():
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "2"})), _file("s", requests={"cpu": "1"}))
    assert any("s-s" in word for shard in (0, 1) for word in machine.brief(ShardStarted(shard)) if word[0] == "=")


def test_a_waiting_pod_that_is_dropped_is_forgotten():
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "2"})), _file("s", requests={"cpu": "1"}))
    assert machine.brief(OriginGone("file", "/m/s")) == []
    assert machine.brief(PodOver("u-a")) == []


def test_labels_that_speak_against_a_pod_are_read_once_more():
    machine = Machine(may_look=True)
    assert machine.brief(
        ApiPut(_item("a", nodeSelector={"new": "1"})), ApiPut(_item("b", nodeSelector={"x": "1"}))
    ) == ["look"]
    assert machine.brief(NodeLooked({"new": "1"})) == ["+u-a", "+u-b NodeAffinity"]
    assert machine.brief(ApiPut(_item("c", nodeSelector={"x": "1"}))) == ["look"]
    assert machine.brief(NodeLooked(None)) == ["+u-c NodeAffinity"]
    assert machine.brief(ApiPut(_item("d", nodeSelector={"x": "1"})), ApiDropped("u-d"), NodeLooked(None)) == ["look"]


def test_an_echo_and_a_list_without_news_touch_no_other_pod():
    machine = Machine(allocatable={})
    machine.say(_listed(*(_item(f"p{number}") for number in range(500))))
    seen = []
    publish = machine.machine._publish
    machine.machine._publish = lambda causes: seen.append(len(causes)) or publish(causes)
    machine.say(ApiPut(_item("p7", version="2", echo=True)))
    machine.say(ApiListed((), tuple(f"u-p{number}" for number in range(500))))
    machine.say(ApiPut(_item("p8", "2", version="2")))
    assert seen == [0, 0, 1]


def _resized(machine, *events):
    """For each pod that is told: uid, cpu that it is granted, and what is pending."""
    told = [one.message for one in machine.say(*events) if isinstance(one, Upsert)]
    return [(desired.uid, _cpu(desired), desired.resize_pending, desired.resize_message) for desired in told]


def _cpu(desired):
    return codec.unpack(desired.body)["spec"]["containers"][0]["resources"]["requests"].get("cpu")


def test_a_resize_that_fits_is_granted_and_counts():
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "1"})))
    assert _resized(machine, ApiPut(_item("a", "2", requests={"cpu": "1500m"}))) == [("u-a", "1500m", "", "")]
    assert machine.brief(ApiPut(_item("b", requests={"cpu": "600m"}))) == ["+u-b OutOfcpu"]
    assert _resized(machine, ApiPut(_item("a", "3", requests={"cpu": "100m"}))) == [("u-a", "100m", "", "")]
    assert machine.brief(ApiPut(_item("c", requests={"cpu": "600m"}))) == ["+u-c"]


def test_a_resize_that_does_not_fit_now_is_granted_when_room_is_there():
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "1"})), ApiPut(_item("b", requests={"cpu": "800m"})))
    why = "Node didn't have enough resource: cpu, requested: 1500, used: 800, capacity: 2000"
    assert _resized(machine, ApiPut(_item("a", "2", requests={"cpu": "1500m"}))) == [("u-a", "1", "Deferred", why)]
    assert _resized(machine, ApiPut(_item("a", "3", labels={"x": "y"}, requests={"cpu": "1500m"}))) == [
        ("u-a", "1", "Deferred", why)
    ]
    assert _resized(machine, PodOver("u-b")) == [("u-a", "1500m", "", "")]
    assert _resized(machine, PodOver("u-b")) == []


def test_a_resize_larger_than_the_node_waits_for_another_node():
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "1"})), ApiPut(_item("b", requests={"cpu": "800m"})))
    why = "Node didn't have enough capacity: cpu, requested: 2500, capacity: 2000"
    assert _resized(machine, ApiPut(_item("a", "2", requests={"cpu": "2500m"}))) == [("u-a", "1", "Infeasible", why)]
    assert _resized(machine, ApiDropped("u-b")) == []
    larger = replace(FACTS, allocatable={**FACTS.allocatable, "cpu": "4"})
    assert _resized(machine, larger) == [("u-a", "2500m", "", "")]


def test_a_resize_that_is_taken_back_is_pending_no_more():
    machine = Machine()
    machine.say(ApiPut(_item("a", requests={"cpu": "1"})))
    machine.say(ApiPut(_item("a", "2", requests={"cpu": "3"})))
    assert _resized(machine, ApiPut(_item("a", "3", requests={"cpu": "1"}))) == [("u-a", "1", "", "")]
    assert machine.machine._pending == set()


def test_the_more_important_of_two_pending_resizes_gets_what_is_freed():
    machine = Machine()
    for name, priority in (("a", 1), ("b", 2)):
        machine.say(ApiPut(_item(name, requests={"cpu": "500m"}, priority=priority)))
    machine.say(ApiPut(_item("c", requests={"cpu": "1"})))
    for name, priority in (("a", 1), ("b", 2)):
        machine.say(ApiPut(_item(name, "2", requests={"cpu": "1500m"}, priority=priority)))
    assert [uid for uid, *_ in _resized(machine, ApiDropped("u-c"))] == ["u-b"]
    assert [uid for uid, *_ in _resized(machine, ApiDropped("u-b"))] == ["u-a"]


def test_after_a_restart_what_was_allocated_comes_from_the_status():
    machine = Machine()
    statuses = [{"name": "c", "allocatedResources": {"cpu": "500m"}, "resources": {"limits": {"cpu": "600m"}}}]
    pod = _item("a", requests={"cpu": "1900m"}, status={**RUNNING, "containerStatuses": statuses})
    other = _item("b", requests={"cpu": "1500m"}, status=RUNNING)
    machine.say(_listed(other))
    assert [each[:3] for each in _resized(machine, ApiPut(pod))] == [("u-a", "500m", "Deferred")]
    assert [each[:3] for each in _resized(machine, ApiDropped("u-b"))] == [("u-a", "1900m", "")]
