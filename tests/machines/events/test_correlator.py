"""Which Event object an occurrence is told in: counts, similar ones, and too many."""

from podherd.machines.events.correlator import COMBINED, Correlator
from podherd.machines.events.happening import About, Happening
from podherd.machines.events.lru import Lru
from podherd.machines.events.spam import SpamFilter


def happening(
    message: str = "m", name: str = "p", reason: str = "BackOff", field: str = "", kind: str = "Warning"
) -> Happening:
    return Happening(About("Pod", "d", name, f"uid-{name}"), field, kind, reason, message)


def test_the_first_of_its_kind_is_a_new_object_named_by_its_time() -> None:
    told = Correlator().correlate(happening(), 1_700_000_000.5)
    assert told is not None
    assert told.is_new
    assert told.record.name == f"p.{1_700_000_000_500_000_000:016x}"
    assert (told.record.count, told.record.first_at, told.record.last_at) == (1, 1_700_000_000.5, 1_700_000_000.5)


def test_the_same_again_raises_the_count_of_the_same_object() -> None:
    correlator = Correlator()
    first = correlator.correlate(happening(), 100.0)
    again = correlator.correlate(happening(), 107.0)
    assert first is not None
    assert again is not None
    assert not again.is_new
    assert again.record.name == first.record.name
    assert (again.record.count, again.record.first_at, again.record.last_at) == (2, 100.0, 107.0)


def test_two_at_the_same_moment_have_two_names() -> None:
    correlator = Correlator()
    names = {told.record.name for field in "ab" if (told := correlator.correlate(happening(field=field), 100.0))}
    assert len(names) == 2


def test_the_tenth_message_within_ten_minutes_and_those_after_it_share_one_object() -> None:
    correlator = Correlator()
    told = [correlator.correlate(happening(f"m{number}", field="f"), 100.0 + number) for number in range(12)]
    records = [one.record for one in told if one]
    assert len({record.name for record in records[:9]}) == 9
    assert len({record.name for record in records[9:]}) == 1
    assert [record.happening.message for record in records[8:11]] == ["m8", f"{COMBINED}m9", f"{COMBINED}m10"]
    assert (records[11].count, records[11].happening.field_path) == (3, "f")


def test_after_ten_quiet_minutes_similar_messages_are_told_apart_again() -> None:
    correlator = Correlator()
    for number in range(11):
        correlator.correlate(happening(f"m{number}"), 100.0)
    told = correlator.correlate(happening("m99"), 701.0)
    assert told is not None
    assert told.record.happening.message == "m99"


def test_an_object_has_25_events_at_once_and_then_one_every_five_minutes() -> None:
    correlator = Correlator()
    assert all(correlator.correlate(happening(), 100.0) for _ in range(25))
    assert correlator.correlate(happening(), 100.0) is None
    assert correlator.correlate(happening(), 399.0) is None
    told = correlator.correlate(happening(), 401.0)
    assert told is not None
    assert told.record.count == 28
    assert correlator.correlate(happening(), 402.0) is None
    assert correlator.correlate(happening(name="other"), 402.0) is not None
    assert correlator.correlate(happening(kind="Normal"), 402.0) is not None


def test_a_clock_set_back_gives_no_tokens_and_takes_none() -> None:
    spam, about = SpamFilter(), About("Node", "", "n", "n")
    assert all(spam.lets_pass(about, "Normal", 1000.0) for _ in range(25))
    assert not spam.lets_pass(about, "Normal", 10.0)


def test_what_is_remembered_is_bounded_and_what_was_used_longest_ago_goes() -> None:
    lru: Lru[int, str] = Lru(2)
    lru.put(1, "a")
    lru.put(2, "b")
    assert lru.get(1) == "a"
    lru.put(3, "c")
    assert (lru.get(1), lru.get(2), lru.get(3), len(lru)) == ("a", None, "c", 2)
