"""What is sent next, what is tried again, what is dropped."""

from typing import Any

from podherd.machines.events import machine
from podherd.machines.events.machine import Away, Create, EventsMachine, Lost, NodeIs, Patch, Refused, Sent, Unknown
from podherd.wire.status import NodeEvent, PodEvent


def pod_event(name: str = "p", message: str = "m", at: float = 100.0, field: str = "") -> PodEvent:
    return PodEvent(f"uid-{name}", "d", name, field, at, "Normal", "Started", message)


def body_of(instruction: Any) -> dict[str, Any]:
    body: dict[str, Any] = instruction.record.body("n1")
    return body


def test_a_pod_event_is_a_whole_v1_event() -> None:
    (create,) = EventsMachine("n1").handle(0.0, pod_event(field="spec.containers{web}"))
    assert isinstance(create, Create)
    assert body_of(create) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"p.{100_000_000_000:016x}", "namespace": "d"},
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": "d", "name": "p", "uid": "uid-p",
            "fieldPath": "spec.containers{web}",
        },
        "reason": "Started",
        "message": "m",
        "source": {"component": "kubelet", "host": "n1"},
        "reportingComponent": "kubelet",
        "reportingInstance": "n1",
        "type": "Normal",
        "count": 1,
        "firstTimestamp": "1970-01-01T00:01:40Z",
        "lastTimestamp": "1970-01-01T00:01:40Z",
    }  # fmt: skip


def test_a_node_event_names_the_uid_of_the_node_once_that_is_known() -> None:
    told = EventsMachine("n1")
    (first,) = told.handle(0.0, NodeEvent(1.0, "Normal", "Starting", "Starting kubelet."))
    assert body_of(first)["metadata"]["namespace"] == "default"
    assert body_of(first)["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"}
    (second,) = told.handle(0.0, Sent(), NodeIs("7f"), NodeEvent(2.0, "Normal", "NodeReady", "ready"))
    assert body_of(second)["involvedObject"]["uid"] == "7f"


def test_a_message_is_cut_to_what_the_api_takes() -> None:
    (create,) = EventsMachine("n1").handle(0.0, pod_event(message="x" * 5000))
    assert len(body_of(create)["message"]) == 1024


def test_one_is_on_its_way_at_a_time_in_order() -> None:
    told = EventsMachine("n1")
    (first,) = told.handle(0.0, pod_event("a"), pod_event("b"))
    assert told.handle(0.0, pod_event("c")) == []
    (second,) = told.handle(0.0, Sent())
    (third,) = told.handle(0.0, Sent())
    assert [body_of(it)["involvedObject"]["name"] for it in (first, second, third)] == ["a", "b", "c"]
    assert told.handle(0.0, Sent()) == []


def test_what_happens_again_is_a_patch_and_a_waiting_one_is_replaced() -> None:
    told = EventsMachine("n1")
    (create,) = told.handle(0.0, pod_event())
    assert isinstance(create, Create)
    assert told.handle(0.0, pod_event(at=101.0), pod_event(at=102.0)) == []
    (patch,) = told.handle(0.0, Sent())
    assert isinstance(patch, Patch)
    assert patch.record.name == create.record.name
    assert patch.record.changes() == {"count": 3, "lastTimestamp": "1970-01-01T00:01:42Z", "message": "m"}


def test_a_patch_of_an_object_that_is_gone_becomes_a_new_one() -> None:
    told = EventsMachine("n1")
    told.handle(0.0, pod_event())
    (patch,) = told.handle(0.0, Sent(), pod_event(at=101.0))
    assert isinstance(patch, Patch)
    (create,) = told.handle(0.0, Unknown())
    assert create == Create(patch.record)
    assert told.handle(0.0, Unknown()) == [Lost(1, "its namespace is not there")]


def test_one_that_is_refused_is_dropped_and_the_next_one_sent() -> None:
    told = EventsMachine("n1")
    told.handle(0.0, pod_event("a"), pod_event("b"))
    lost, following = told.handle(0.0, Refused("forbidden"))
    assert lost == Lost(1, "forbidden")
    assert body_of(following)["involvedObject"]["name"] == "b"


def test_a_server_that_is_away_is_tried_every_ten_seconds_twelve_times_for_each() -> None:
    told = EventsMachine("n1")
    told.handle(0.0, pod_event("a"), pod_event("b"))
    for number in range(11):
        assert told.handle(10.0 * number, Away("refused")) == [machine.Wait(10.0 * number + 10.0)]
        assert told.handle(10.0 * number, pod_event("c")) == []
        (again,) = told.handle(10.0 * number + 10.0, machine.TryAgain())
        assert body_of(again)["involvedObject"]["name"] == "a"
    lost, wait = told.handle(200.0, Away("refused"))
    assert lost == Lost(1, "tried 12 times: refused")
    assert wait == machine.Wait(210.0)
    (following,) = told.handle(210.0, machine.TryAgain())
    assert body_of(following)["involvedObject"]["name"] == "b"


def test_a_count_that_came_while_the_server_was_away_is_told_in_the_one_create() -> None:
    told = EventsMachine("n1")
    told.handle(0.0, pod_event())
    told.handle(0.0, pod_event(at=130.0), Away("refused"))
    (create,) = told.handle(10.0, machine.TryAgain())
    assert isinstance(create, Create)
    assert create.record.count == 2


def test_beyond_a_thousand_waiting_the_oldest_goes_and_the_log_hears_of_it_once() -> None:
    told = EventsMachine("n1")
    told.handle(0.0, pod_event("first"))
    told.handle(0.0, *(pod_event(f"p{number}") for number in range(1010)))
    lost, following = told.handle(0.0, Sent())
    assert lost == Lost(10, "more than 1000 waited")
    assert body_of(following)["involvedObject"]["name"] == "p10"
    (only,) = told.handle(0.0, Sent())
    assert isinstance(only, Create)


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    assert EventsMachine("n1").handle(0.0, Sent(), Unknown(), Away("x")) == []
