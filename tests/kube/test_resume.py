"""The decisions of a follow, played through without a network."""

import pytest

from podherd.errors import ApiError
from podherd.kube.door import Dropped, Listed, Put, Trouble
from podherd.kube.resume import LONGEST_S, QUICK, STEADY_S, AskList, AskWatch, Resume

GONE = ApiError("watch", 410, "Expired", "too old resource version")
AWAY = ApiError("watch", 0, "", "cannot be connected")
QUERY = {"fieldSelector": "spec.nodeName=a"}


def page(*names: str, version: str = "10", rest: str = "") -> dict[str, object]:
    items = [{"metadata": {"name": name}} for name in names]
    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": version, "continue": rest},
        "items": items,
    }


def told(kind: str, version: str) -> dict[str, object]:
    return {"type": kind, "object": {"metadata": {"name": "a", "resourceVersion": version}}}


def watching(version: str = "10") -> Resume:
    resume = Resume(QUERY)
    resume.listed(page(version=version))
    resume.opened()
    return resume


def version_of(resume: Resume) -> str:
    asked = resume.ask()
    assert isinstance(asked, AskWatch)
    return asked.query["resourceVersion"]


def test_it_lists_the_newest_state_and_watches_from_there() -> None:
    resume = Resume(QUERY)
    assert resume.ask() == AskList({**QUERY, "limit": "500"})
    assert resume.listed(page("a")) == [Listed([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}])]
    watch = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "10"}
    assert resume.ask() == AskWatch({**QUERY, **watch})
    assert resume.delay_s(0.9) == 0


def test_pages_are_told_as_one_list() -> None:
    resume = Resume({})
    assert resume.listed(page("a", rest="more")) == []
    assert resume.ask() == AskList({"limit": "500", "continue": "more"})
    (listed,) = resume.listed(page("b"))
    assert isinstance(listed, Listed)
    assert [item["metadata"]["name"] for item in listed.items] == ["a", "b"]


def test_a_list_that_expires_between_pages_is_fetched_whole_and_old_pages_are_dropped() -> None:
    resume = Resume({})
    resume.listed(page("a", rest="more"))
    assert resume.failed(GONE) == []
    assert resume.ask() == AskList({})
    (listed,) = resume.listed(page("b"))
    assert isinstance(listed, Listed)
    assert [item["metadata"]["name"] for item in listed.items] == ["b"]


def test_events_and_bookmarks_move_on_where_to_resume() -> None:
    resume = watching()
    assert [type(one) for one in resume.event("", told("ADDED", "11"))] == [Put]
    assert [type(one) for one in resume.event("", told("MODIFIED", "12"))] == [Put]
    assert [type(one) for one in resume.event("", told("DELETED", "13"))] == [Dropped]
    assert resume.event("", told("BOOKMARK", "20")) == []
    assert version_of(resume) == "20"


def test_a_watch_that_the_server_closes_is_resumed_at_once() -> None:
    resume = watching()
    resume.ended(STEADY_S, told_any=False)
    assert resume.delay_s(0.9) == 0
    assert version_of(resume) == "10"


def test_a_watch_that_ends_at_once_and_silently_backs_off() -> None:
    resume = watching()
    resume.ended(0.1, told_any=False)
    assert resume.delay_s(0) == pytest.approx(0.8)


def test_watches_that_end_quickly_again_and_again_back_off_though_they_tell_of_something() -> None:
    resume = watching()
    for at in range(QUICK):
        resume.event("", told("ADDED", str(11 + at)))
        resume.ended(0.1, told_any=True)
        assert resume.delay_s(0) == 0
    resume.event("", told("ADDED", "99"))
    resume.ended(0.1, told_any=True)
    assert resume.delay_s(0) > 0


def test_the_first_410_lists_anew_at_once_and_in_silence_and_the_next_one_waits() -> None:
    resume = watching()
    assert resume.failed(GONE) == []
    assert isinstance(resume.ask(), AskList)
    assert resume.delay_s(0.9) == 0
    resume.listed(page(version="30"))
    assert resume.failed(GONE) == [Trouble("watch: too old resource version", 410)]
    assert resume.delay_s(0) > 0


def test_a_410_right_after_an_outage_is_neither_trouble_nor_waited_for() -> None:
    resume = watching()
    for _ in range(5):
        resume.failed(AWAY)
    assert resume.opened() == [Trouble("")]
    assert resume.failed(GONE) == []
    assert isinstance(resume.ask(), AskList)
    assert resume.delay_s(0.9) == 0


def test_an_error_event_that_says_expired_is_a_410() -> None:
    resume = watching()
    with pytest.raises(ApiError) as caught:
        resume.event("watch", {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}})
    assert resume.failed(caught.value) == []
    assert isinstance(resume.ask(), AskList)


def test_an_outage_is_told_once_and_so_is_its_end() -> None:
    resume = watching()
    assert resume.failed(AWAY) == [Trouble("watch: cannot be connected", 0)]
    assert resume.failed(AWAY) == []
    assert resume.opened() == [Trouble("")]
    assert resume.opened() == []
    assert version_of(resume) == "10"


def test_delays_double_up_to_half_a_minute_with_jitter() -> None:
    resume = watching()
    low, high = [], []
    for _ in range(40):
        resume.failed(AWAY)
        low.append(resume.delay_s(0))
        high.append(resume.delay_s(1))
    assert low[:3] == pytest.approx([0.8, 1.6, 3.2])
    assert max(high) == pytest.approx(LONGEST_S)
    assert all(one > other for one, other in zip(high, low, strict=True))


def test_retry_after_is_waited_for() -> None:
    resume = watching()
    resume.failed(ApiError("watch", 429, "TooManyRequests", "later", retry_after_s=7))
    assert resume.delay_s(0) == 7


def test_a_line_that_is_no_json_is_resumed_and_the_second_one_makes_a_list() -> None:
    resume = watching()
    resume.torn()
    assert version_of(resume) == "10"
    resume.opened()
    resume.torn()
    assert isinstance(resume.ask(), AskList)


def test_a_server_that_was_set_back_is_listed_anew() -> None:
    resume = watching("900")
    resume.failed(ApiError("watch", 504, "Timeout", "Too large resource version: 900, current: 5"))
    assert isinstance(resume.ask(), AskList)


@pytest.mark.parametrize(
    "line", [[], {}, {"type": "ADDED"}, {"type": 1, "object": {}}, {"type": "ADDED", "object": []}]
)
def test_what_is_no_event_is_an_error(line: object) -> None:
    with pytest.raises(ApiError):
        watching().event("watch", line)
