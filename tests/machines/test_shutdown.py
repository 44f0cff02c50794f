"""A graceful shutdown: pods end by priority, nobody is waited for longer than its group has, then the machine goes."""

from typing import Any

import pytest

from podherd.machines import node_events as heard
from podherd.machines.capacity import Amounts
from podherd.machines.node import Facts
from podherd.machines.node_instructions import Emit, Instruction, Report, TellFacts
from podherd.machines.node_machine import NodeMachine
from podherd.machines.node_report import Reporting
from podherd.machines.shutdown import (
    LOOK_S,
    MESSAGE,
    ActivePod,
    AskPods,
    EndPod,
    Group,
    HoldShutDown,
    LetShutDown,
    WakeAt,
    groups_of,
    needed_s,
)
from podherd.wire import codec
from podherd.wire.node import PlegHealth

CRITICAL = 2_000_000_000
GROUPS = groups_of(30.0, 10.0, ())
SHARDS = ("pod_shard-0", "pod_shard-1")
INFO = {"operatingSystem": "linux", "architecture": "amd64"}
FACTS = Facts("n1", "n1", ("192.0.2.1",), Amounts(4, 8 << 30, 100 << 30, 110), INFO)
NODE = {"metadata": {"name": "n1", "uid": "u1", "labels": dict(FACTS.labels)}, "spec": {}, "status": {}}
BEGIN = heard.ShuttingDown(True)


def made(groups: tuple[Group, ...] = GROUPS) -> NodeMachine:
    """A node that is Ready."""
    node = NodeMachine(FACTS, "cgroupfs", Reporting(), groups, SHARDS)
    looked = heard.Looked("containerd://2.0", "", "", "cgroupfs")
    node.handle(0.0, heard.ApiNode(codec.pack(NODE)), looked, PlegHealth(0.0, 0.1, 0, 0, ()))
    return node


def pods(shard: int, **priorities: int) -> heard.ActivePods:
    found = tuple(ActivePod(name, "default", name, priority) for name, priority in priorities.items())
    return heard.ActivePods(SHARDS[shard], found)


def ended(told: list[Instruction]) -> dict[str, int]:
    """Names of the pods that were ended, and their grace."""
    return {each.order.name: each.order.grace_s for each in told if isinstance(each, EndPod)}


def kinds(told: list[Instruction]) -> set[type]:
    return {type(each) for each in told}


@pytest.mark.parametrize(
    ("settings", "groups"),
    [
        ((0.0, 0.0, ()), ()),
        ((30.0, 10.0, ()), (Group(0, 20), Group(CRITICAL, 10))),
        ((0.0, 0.0, ((100, 5.0), (0, 60.0))), (Group(0, 60), Group(100, 5))),
    ],
)
def test_groups_of_the_configuration(settings: Any, groups: tuple[Group, ...]) -> None:
    assert groups_of(*settings) == groups
    assert needed_s(groups) == sum(group.grace_s for group in groups)


def test_at_its_begin_the_node_is_not_ready_refuses_pods_and_every_shard_is_asked_for_its_own() -> None:
    told = made().handle(10.0, BEGIN)
    (report,) = [codec.unpack(each.status) for each in told if isinstance(each, Report)]
    ready = report["conditions"][-1]
    assert (ready["status"], ready["reason"], ready["message"]) == ("False", "KubeletNotReady", "node is shutting down")
    assert all(each.facts.shutting_down for each in told if isinstance(each, TellFacts))
    assert [each.shard for each in told if isinstance(each, AskPods)] == [*SHARDS]
    events = {each.event.reason: each.event.message for each in told if isinstance(each, Emit)}
    assert events["Shutdown"] == "Shutdown manager detected shutdown event"
    assert "NodeNotReady" in events
    assert WakeAt(10.0 + LOOK_S) in told


def test_pods_end_in_the_order_of_their_priority_each_group_once_the_one_before_is_gone() -> None:
    node = made()
    node.handle(0.0, BEGIN)
    first = node.handle(0.1, pods(0, web=0, dns=CRITICAL))
    assert ended(first) == {"web": 20}
    (order,) = [each.order for each in first if isinstance(each, EndPod)]
    assert (order.reason, order.message, order.disruption) == ("Terminated", MESSAGE, MESSAGE)
    assert ended(node.handle(0.2, pods(1, low=-5))) == {"low": 20}
    assert ended(node.handle(3.0, pods(0, dns=CRITICAL))) == {}
    assert ended(node.handle(3.1, pods(1))) == {"dns": 10}
    assert LetShutDown in kinds(node.handle(4.0, pods(0)))


def test_a_pod_of_a_high_priority_is_of_the_highest_group_and_one_between_two_of_the_lower() -> None:
    node = made((Group(10, 5), Group(100, 6), Group(1000, 7)))
    node.handle(0.0, BEGIN)
    node.handle(0.0, pods(1))
    told = node.handle(0.0, pods(0, below=1, between=99, exact=100, beyond=5000))
    assert ended(told) == {"below": 5, "between": 5}
    assert ended(node.handle(1.0, pods(0, exact=100, beyond=5000))) == {"exact": 6}
    assert ended(node.handle(2.0, pods(0, beyond=5000))) == {"beyond": 7}


def test_a_group_that_takes_too_long_is_not_waited_for() -> None:
    node = made()
    node.handle(0.0, BEGIN)
    node.handle(0.0, pods(0, slow=0, dns=CRITICAL), pods(1))
    assert ended(node.handle(19.9, heard.Woke())) == {}
    assert ended(node.handle(20.0, heard.Woke())) == {"dns": 10}
    assert LetShutDown not in kinds(node.handle(29.9, heard.Woke(), pods(0, slow=0, dns=CRITICAL)))
    told = node.handle(30.0, heard.Woke())
    assert LetShutDown in kinds(told)
    assert not {AskPods, WakeAt} & kinds(told)


def test_a_shard_that_does_not_answer_holds_the_machine_no_longer_than_the_groups_do() -> None:
    node = made()
    node.handle(0.0, BEGIN)
    assert LetShutDown not in kinds(node.handle(0.1, pods(0)))
    node.handle(20.0, heard.Woke())
    assert LetShutDown in kinds(node.handle(30.0, heard.Woke()))


def test_a_shard_that_begins_anew_is_told_again_and_others_are_not() -> None:
    node = made()
    node.handle(0.0, BEGIN)
    node.handle(0.1, pods(0, web=0), pods(1, job=0))
    assert ended(node.handle(0.5, pods(0, web=0), pods(1, job=0))) == {}
    node.handle(0.6, heard.ShardStarted(SHARDS[0]))
    assert ended(node.handle(1.0, pods(0, web=0), pods(1, job=0))) == {"web": 20}


def test_one_that_is_called_off_leaves_the_rest_of_the_pods_and_the_next_one_begins_anew() -> None:
    node = made()
    node.handle(0.0, BEGIN)
    node.handle(0.1, pods(0, web=0, dns=CRITICAL), pods(1))
    told = node.handle(1.0, heard.ShuttingDown(False))
    assert HoldShutDown in kinds(told)
    assert not any(each.facts.shutting_down for each in told if isinstance(each, TellFacts))
    events = {each.event.reason: each.event.message for each in told if isinstance(each, Emit)}
    assert events["Shutdown"] == "Shutdown manager detected shutdown cancellation"
    assert ended(node.handle(1.5, heard.Woke(), pods(0, dns=CRITICAL))) == {}
    assert AskPods in kinds(node.handle(9.0, BEGIN))
    assert ended(node.handle(9.1, pods(0, dns=CRITICAL), pods(1))) == {"dns": 10}


def test_a_second_word_of_the_same_shutdown_and_one_that_is_not_to_be_graceful_change_nothing() -> None:
    node = made()
    node.handle(0.0, BEGIN)
    assert not {AskPods, Emit} & kinds(node.handle(1.0, BEGIN))
    assert not {AskPods, LetShutDown, Emit} & kinds(made(()).handle(0.0, BEGIN))
