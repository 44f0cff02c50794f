"""The last value for a key wins; what must each count is never merged."""

from podherd.wire.coalesce import key_of
from podherd.wire.control import Answer, Ask, Drain, Drained, Hello
from podherd.wire.desired import Desired, Gone, Roster
from podherd.wire.observed import Observed, Reinspect
from podherd.wire.status import PodEvent, PodForgotten, SourceProblem, StatusChanged


def test_wanting_and_dropping_a_pod_replace_each_other() -> None:
    assert key_of(Desired("u", "ns", "n", "file", b"", "")) == key_of(Gone("u", "ns", "n", ""))
    assert key_of(Gone("u", "ns", "n", "")) != key_of(Gone("v", "ns", "n", ""))


def test_a_status_and_its_end_replace_each_other() -> None:
    changed = StatusChanged("u", "ns", "n", "Running", "file", False, 0.0, b"")
    assert key_of(changed) == key_of(PodForgotten("u", "ns", "n"))


def test_lanes_do_not_replace_one_another() -> None:
    keys = {
        key_of(Observed("u", "ns", "n", 0.0, (), ())),
        key_of(Reinspect("u", "ns", "n", 0.0)),
        key_of(Gone("u", "ns", "n", "")),
    }
    assert len(keys) == 3


def test_a_roster_and_a_hello_stand_alone() -> None:
    assert key_of(Roster((), True)) == key_of(Roster(("u",), False)) != key_of(Hello("a"))


def test_orders_to_drain_and_their_answers_are_worth_saying_once() -> None:
    assert key_of(Drain()) == key_of(Drain())
    assert key_of(Drained("a")) == key_of(Drained("a")) != key_of(Drain())


def test_problems_coalesce_by_thing() -> None:
    assert key_of(SourceProblem("a.yaml", "bad", 0.0)) == key_of(SourceProblem("a.yaml", "", 1.0))
    assert key_of(SourceProblem("a.yaml", "bad", 0.0)) != key_of(SourceProblem("b.yaml", "bad", 0.0))


def test_events_questions_and_answers_each_count() -> None:
    assert key_of(PodEvent("u", "ns", "n", "", 0.0, "Normal", "Pulled", "")) is None
    assert key_of(Ask(1, "pod", b"")) is None
    assert key_of(Answer(1, b"")) is None
