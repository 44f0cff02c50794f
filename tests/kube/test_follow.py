"""A follow against torn, expired and silent watches: nothing is lost, nothing told twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.kit.waiting import until
from tests.kube.script import (
    PODS,
    Answer,
    Script,
    error_event,
    event,
    hangs,
    lists,
    refuses,
    speaking_to,
    watch,
)

from podherd.kube.door import Dropped, Listed, News, Put, Trouble


@asynccontextmanager
async def following(*parts: Answer) -> AsyncIterator[tuple[list[News], Script]]:
    """What is told while the server answers so."""
    news: list[News] = []
    async with speaking_to(*parts) as (client, script):
        task = asyncio.create_task(client.follow(PODS, {"fieldSelector": "spec.nodeName=a"}, news.append))
        try:
            yield news, script
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.kube.resume.FIRST_S", 0.001)


def names(news: list[News]) -> list[str]:
    """Each object told, with a sign for what became of it; lists in brackets, troubles by status."""
    words = []
    for one in news:
        match one:
            case Listed(items):
                words.append(f"[{' '.join(item['metadata']['name'] for item in items)}]")
            case Put(body):
                words.append(f"+{body['metadata']['name']}")
            case Dropped(body):
                words.append(f"-{body['metadata']['name']}")
            case Trouble(reason, status):
                words.append(f"trouble {status}" if reason else "well")
    return words


def versions(script: Script) -> list[str]:
    """Where each watch began."""
    return [one.query["resourceVersion"] for one in script.asked if "watch" in one.query]


async def test_it_lists_in_pages_and_watches() -> None:
    parts = lists("a", rest="t"), lists("b"), hangs(event("ADDED", "c", "11"), event("DELETED", "a", "12"))
    async with following(*parts) as (news, script):
        await until(lambda: len(news) == 3)
    assert names(news) == ["[a b]", "+c", "-a"]
    assert script.asked[1].query["continue"] == "t"
    assert script.asked[2].query["allowWatchBookmarks"] == "true"
    assert int(script.asked[2].query["timeoutSeconds"]) >= 300
    assert {one.query["fieldSelector"] for one in script.asked} == {"spec.nodeName=a"}


async def test_pages_that_expire_halfway_are_listed_anew_in_one_piece_and_in_silence() -> None:
    parts = (
        lists("a", rest="t"),
        refuses(410, "Expired"),
        lists("a", "b", version="20"),
        hangs(event("ADDED", "c", "21")),
    )
    async with following(*parts) as (news, script):
        await until(lambda: len(news) == 2)
    assert names(news) == ["[a b]", "+c"]
    assert [(one.query.get("limit"), one.query.get("continue")) for one in script.asked[:3]] == [
        ("500", None), ("500", "t"), (None, None),
    ]  # fmt: skip
    assert versions(script) == ["20"]


async def test_a_watch_that_is_closed_or_torn_is_resumed_without_a_list() -> None:
    closed, torn = watch(event("ADDED", "b", "11")), watch(event("ADDED", "c", "12"), torn=True)
    async with following(lists("a"), closed, torn, hangs(event("ADDED", "d", "13"))) as (news, script):
        await until(lambda: len(news) == 4)
    assert names(news) == ["[a]", "+b", "+c", "+d"]
    assert versions(script) == ["10", "11", "12"]


@pytest.mark.parametrize("torn", [True, False])
async def test_half_a_line_at_the_end_is_told_once_whole(torn: bool) -> None:
    whole = event("ADDED", "c", "12")
    half = watch(event("ADDED", "b", "11"), whole[:20], torn=torn)
    async with following(lists("a"), half, hangs(whole)) as (news, script):
        await until(lambda: len(news) == 3)
    assert names(news) == ["[a]", "+b", "+c"]
    assert versions(script) == ["10", "11"]


async def test_a_damaged_line_is_trouble_and_nothing_is_lost() -> None:
    damaged = watch(event("ADDED", "b", "11"), b'{"type": "ADDED", "obj\n', event("ADDED", "z", "99"))
    async with following(lists("a"), damaged, hangs(event("ADDED", "c", "12"))) as (news, script):
        await until(lambda: "+c" in names(news))
    assert names(news) == ["[a]", "+b", "trouble 0", "well", "+c"]
    assert versions(script) == ["10", "11"]


@pytest.mark.parametrize("gone", [refuses(410, "Expired"), watch(error_event(410, "Expired"))])
async def test_410_lists_anew_in_silence(gone: Answer) -> None:
    parts = lists("a"), gone, lists("b", version="50"), hangs(event("ADDED", "c", "51"))
    async with following(*parts) as (news, script):
        await until(lambda: len(news) == 3)
    assert names(news) == ["[a]", "[b]", "+c"]
    assert versions(script) == ["10", "50"]


async def test_bookmarks_are_not_told_and_move_on() -> None:
    first = watch(event("BOOKMARK", "", "30"))
    async with following(lists("a"), first, hangs(event("ADDED", "b", "31"))) as (news, script):
        await until(lambda: len(news) == 2)
    assert names(news) == ["[a]", "+b"]
    assert versions(script) == ["10", "30"]


async def test_an_outage_is_told_once_and_its_end_too() -> None:
    away = refuses(500, "InternalError")
    parts = lists("a"), away, away, away, hangs(event("ADDED", "b", "11"))
    async with following(*parts) as (news, script):
        await until(lambda: len(news) == 4)
    assert names(news) == ["[a]", "trouble 500", "well", "+b"]
    assert versions(script) == ["10"] * 4


async def test_a_forbidden_list_is_told_with_its_reason() -> None:
    async with following(refuses(403, "Forbidden", "you may not list pods")) as (news, script):
        await until(lambda: len(script.asked) > 2)
    assert [type(one) for one in news] == [Trouble]
    assert isinstance(news[0], Trouble)
    assert "you may not list pods" in news[0].reason


async def test_a_silent_watch_is_broken_off_and_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.kube.follow.IDLE_S", 0.05)
    monkeypatch.setattr("podherd.kube.resume.STEADY_S", 0.01)
    async with following(lists("a"), hangs(event("ADDED", "b", "11")), hangs(event("ADDED", "c", "12"))) as (
        news,
        script,
    ):
        await until(lambda: len(news) == 3)
    assert names(news) == ["[a]", "+b", "+c"]
    assert versions(script)[:2] == ["10", "11"]


async def test_a_watch_that_outlasts_its_time_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.kube.follow.LASTS_S", (0, 0))
    monkeypatch.setattr("podherd.kube.follow.GRACE_S", 0.05)
    async with following(lists("a"), hangs(event("ADDED", "b", "11")), hangs(event("ADDED", "c", "12"))) as (news, _):
        await until(lambda: "+c" in names(news))
    assert names(news)[:3] == ["[a]", "+b", "+c"]


async def test_a_watch_that_is_not_accepted_in_time_is_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.kube.follow.OPEN_S", 0.05)
    async with following(lists("a"), hangs()) as (news, _):
        await until(lambda: len(news) == 2)
    assert names(news) == ["[a]", "trouble 0"]


async def test_lines_of_megabytes_come_through() -> None:
    names_ = ["x" * 3_000_000, "y" * 3_000_000]
    big = hangs(*(event("ADDED", name, str(11 + at)) for at, name in enumerate(names_)))
    async with following(lists(), big) as (news, _):
        await until(lambda: len(news) == 3)
    assert names(news)[1:] == [f"+{name}" for name in names_]


async def test_close_ends_a_follow() -> None:
    async with speaking_to(lists("a"), hangs(event("ADDED", "b", "11"))) as (client, _):
        news: list[News] = []
        task = asyncio.create_task(client.follow(PODS, {}, news.append))
        await until(lambda: len(news) == 2)
        await client.close()
        with pytest.raises(asyncio.CancelledError):
            await task
