"""Where two answers of a machine first differ, in words."""

from podherd.journal.difference import first_difference, shown
from podherd.journal.kinds import plain
from podherd.machines.pod.instructions import Forget, Plan, Publish, StartContainer, Sync, WakeAt


def publish(phase: str, ready: str = "True") -> Publish:
    status = {"phase": phase, "conditions": ({"type": "Ready", "status": ready},)}
    return Publish("u1", "ns", "web", "file", False, 1.0, status)


def test_equal_answers_do_not_differ() -> None:
    assert first_difference([plain(publish("Running"))], [plain(publish("Running"))]) is None


def test_the_field_is_named_however_deep_it_is() -> None:
    old, new = [plain(WakeAt("u", 1.0)), plain(publish("Running"))], [plain(WakeAt("u", 1.0)), None]
    new[1] = plain(publish("Running", "False"))
    found = first_difference(old, new)
    assert found is not None
    assert (found.place, found.where) == (2, "Publish.status.conditions.0.status of u1")
    assert (found.expected, found.got) == ("'True'", "'False'")


def test_a_list_that_is_longer_is_shown_where_it_goes_on() -> None:
    plans = [Plan(start=(StartContainer("a", 0),)), Plan(start=(StartContainer("a", 0), StartContainer("b", 0)))]
    old, new = ([plain(Sync("u1", "ns", "web", 1, None, plan))] for plan in plans)
    found = first_difference(old, new)
    assert found is not None
    assert found.expected == "'nothing'"
    assert "'b'" in found.got


def test_another_kind_or_one_more_is_shown_whole() -> None:
    wake, forget = plain(WakeAt("u", 1.0)), plain(Forget("u", "ns", "web"))
    found = first_difference([wake], [forget])
    assert found is not None
    assert (found.expected, found.got) == ("WakeAt(uid='u', at=1.0)", "Forget(uid='u', namespace='ns', name='web')")
    found = first_difference([wake], [wake, forget])
    assert found is not None
    assert (found.place, found.expected, found.got) == (2, "nothing", shown(forget))
