"""The journal keeps its last entries under running numbers."""

from podherd.hollow import journal
from podherd.hollow.script import Subject


def test_since_gives_only_what_came_later() -> None:
    kept = journal.Journal()
    for n in range(5):
        kept.other(n, "PullImage", Subject(image=str(n)), "OK")
    assert [entry["image"] for entry in kept.since(3)] == ["3", "4"]
    assert [entry["seq"] for entry in kept.since(0)] == [1, 2, 3, 4, 5]
    assert kept.since(5) == []
    assert kept.first == 1


def test_waiting_is_counted_by_method_and_by_pod() -> None:
    tally = journal.Tally()
    tally.enter("StopContainer", "default/a")
    tally.enter("StopContainer", "default/b")
    tally.leave("StopContainer", "default/a")
    tally.enter("StopContainer", "default/b")
    report = tally.report()
    assert report["waiting"] == {"StopContainer": 2}
    assert report["most_waiting"] == {"StopContainer": 2}
    assert report["most_waiting_by_pod"] == {"StopContainer default/a": 1, "StopContainer default/b": 2}
