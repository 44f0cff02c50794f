"""The URL source against a real server on loopback."""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from tests.kit.waiting import until

from podherd.machines.sources.events import Noted, OriginBad, OriginRead, SourceListed
from podherd.sources import http as http_source
from podherd.sources.http import HttpSource

from .conftest import manifest

ITEM = {"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a", "image": "b:1"}]}}
LIST = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": [ITEM, {**ITEM, "metadata": {"name": "y"}}]})


class Site:
    """A server whose answer is set by the test."""

    def __init__(self):
        self.status, self.body, self.requests = 200, b"", []
        self.url = ""

    async def answer(self, request):
        self.requests.append(request)
        return web.Response(status=self.status, body=self.body)

    async def round(self, request):
        """To the same place again."""
        raise web.HTTPFound(request.url)


@pytest.fixture
async def site():
    found = Site()
    app = web.Application()
    app.router.add_get("/pods", found.answer)
    app.router.add_get("/round", found.round)
    runner = web.AppRunner(app)
    await runner.setup()
    server = web.TCPSite(runner, "127.0.0.1", 0)
    await server.start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/pods"
    yield found
    await runner.cleanup()


@asynccontextmanager
async def _source(site, told, **headers):
    source = HttpSource(site.url, headers, "n1", 60.0, told.append)
    async with aiohttp.ClientSession(headers=headers) as session:
        yield lambda: source.check(session)


def _names(told):
    return [[pod.name for pod in event.pods] for event in told.of(OriginRead)]


def _problems(told):
    return [event.problem for event in told.of(Noted) if event.problem]


async def test_a_pod_or_a_list_is_read_and_an_equal_answer_is_not_told_again(site, told):
    async with _source(site, told) as check:
        site.body = manifest("web").encode()
        await check()
        await check()
        site.body = LIST.encode()
        await check()
    assert _names(told) == [["web-n1"], ["x-n1", "y-n1"]]
    assert len(told.of(SourceListed)) == 3
    assert _problems(told) == []


async def test_an_empty_answer_stands_for_no_pods_and_is_said(site, told):
    async with _source(site, told) as check:
        site.body = LIST.encode()
        await check()
        site.body = b""
        await check()
    assert _names(told) == [["x-n1", "y-n1"], []]
    assert _problems(told) == ["the answer is empty: it stands for no pods at all"]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, b"oops", "answered 500"),
        (404, LIST.encode(), "answered 404"),
        (200, b"<html>", "is not a mapping of fields"),
        (200, LIST.replace("b:1", "").encode(), "spec.containers[0].image: Required value"),
        (200, b"#" * (10 * 1024 * 1024 + 1), "larger than 10 MiB"),
    ],
)
async def test_an_answer_that_cannot_be_used_keeps_the_last_good_one(site, told, status, body, words):
    async with _source(site, told) as check:
        site.body = LIST.encode()
        await check()
        site.status, site.body = status, body
        await check()
        assert words in _problems(told)[-1]
        assert _problems(told)[-1].endswith("the pods that were read before stay")
        site.status, site.body = 200, LIST.encode()
        await check()
    assert len(_names(told)) == 1
    assert not told.of(OriginBad)
    assert told.of(Noted)[-1].problem == ""


async def test_a_source_that_never_answered_is_not_seen_and_only_the_first_failures_are_told(told):
    site = Site()
    site.url = "http://127.0.0.1:9/pods"
    async with _source(site, told) as check:
        for _ in range(6):
            await check()
    assert not told.of(SourceListed)
    assert len(told) == http_source.LOUD_FAILURES
    assert "cannot be read" in told[0].problem


async def test_a_server_that_hangs_is_given_up(site, told, monkeypatch):
    hang = asyncio.Event()

    async def answer(_request):
        await hang.wait()
        return web.Response()

    monkeypatch.setattr(http_source, "TIMEOUT_S", 0.2)
    site.answer = answer
    app = web.Application()
    app.router.add_get("/pods", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    source = HttpSource(f"http://127.0.0.1:{runner.addresses[0][1]}/pods", {}, "n1", 60.0, told.append)
    task = asyncio.create_task(source.run())
    await until(lambda: _problems(told))
    assert "no answer in 0.2 s" in _problems(told)[0]
    task.cancel()
    hang.set()
    await asyncio.gather(task, return_exceptions=True)
    await runner.cleanup()


async def test_headers_are_sent_and_a_password_in_the_url_is_never_shown(site, told):
    site.body = manifest("web").encode()
    source = HttpSource(site.url.replace("://", "://me:secret@"), {"X-Token": "t"}, "n1", 60.0, told.append)
    task = asyncio.create_task(source.run())
    await told.until(SourceListed)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert site.requests[0].headers["X-Token"] == "t"
    assert site.requests[0].headers["Authorization"].startswith("Basic ")
    assert "secret" not in repr(told)
    assert told.of(OriginRead)[0].origin == site.url


async def test_it_asks_again_and_again(site, told):
    source = HttpSource(site.url, {}, "n1", 0.01, told.append)
    task = asyncio.create_task(source.run())
    await until(lambda: len(site.requests) > 3)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("answered 500", "{site}"),
        ("TooManyRedirects", "{site}/../round"),
        ("InvalidUrl", "http://"),
        ("Cannot connect", "http://127.0.0.1:9"),
    ],
)
async def test_no_failure_shows_a_token_of_the_url(site, told, kind, start):
    site.status = 500
    url = start.format(site=site.url) + "?token=secret"
    source = HttpSource(url.replace("://1", "://me:secret@1"), {}, "n1", 60.0, told.append)
    async with aiohttp.ClientSession() as session:
        await source.check(session)
    (problem,) = told
    assert kind in problem.problem
    assert "secret" not in repr(problem)
