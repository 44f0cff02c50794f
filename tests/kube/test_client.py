"""The client against faults that a real server does not produce on demand."""

import asyncio
import gzip
import ssl
from pathlib import Path

import orjson
import pytest
from aiohttp import web
from tests.kit.certificates import Authority
from tests.kit.waiting import until
from tests.kube.script import PODS, Script, file_with, hangs, hangs_up, refuses, says, speaking_to

from podherd import __version__
from podherd.errors import ApiError, ConfigError
from podherd.kube import client as tested
from podherd.kube.client import Client
from podherd.kube.config import Access, Pem, Server, User
from podherd.kube.door import MERGE

POD = {"metadata": {"name": "a"}}


async def test_every_method_asks_as_the_api_wants_it() -> None:
    async with speaking_to(says(POD)) as (client, script):
        assert await client.get(PODS, {"fieldSelector": "spec.nodeName=a b"}) == POD
        await client.create(PODS, POD)
        await client.replace(f"{PODS}/a", POD)
        await client.patch(f"{PODS}/a", POD)
        await client.patch(f"{PODS}/a%2Fb", POD, MERGE)
        await client.delete(f"{PODS}/a", "some-uid", 0)
    assert [one.method for one in script.asked] == ["GET", "POST", "PUT", "PATCH", "PATCH", "DELETE"]
    assert script.asked[0].query["fieldSelector"] == "spec.nodeName=a b"
    kinds = [one.headers.get("Content-Type") for one in script.asked]
    plain = "application/json"
    patches = ["application/strategic-merge-patch+json", "application/merge-patch+json"]
    assert kinds[1:] == [plain, plain, *patches, plain]
    assert script.asked[4].raw_path == f"{PODS}/a%2Fb"
    assert {one.headers["User-Agent"] for one in script.asked} == {f"podherd/{__version__}"}
    options = orjson.loads(script.bodies[5])
    assert (options["preconditions"], options["gracePeriodSeconds"]) == ({"uid": "some-uid"}, 0)


async def test_one_connection_serves_many_requests() -> None:
    async with speaking_to(says(POD)) as (client, script):
        ports = set()
        for _ in range(3):
            await client.get(PODS)
            ports.add(script.asked[-1].remote)
        seen = {one.transport for one in script.asked}
    assert len(seen) == 1


async def test_a_server_that_closes_idle_connections_is_asked_over_new_ones() -> None:
    async with speaking_to(hangs_up(POD)) as (client, script):
        for _ in range(3):
            assert await client.get(PODS) == POD
            await until(lambda: not any(one.transport for one in script.asked))
            assert await client.patch(f"{PODS}/a", POD) == POD
            await until(lambda: not any(one.transport for one in script.asked))
    assert len(script.asked) == 6


async def leaves(request: web.Request) -> web.StreamResponse:
    """No answer, and the end of the connection."""
    assert request.transport is not None
    request.transport.close()
    return web.Response()


async def test_a_change_that_meets_a_closing_connection_is_sent_once_more() -> None:
    async with speaking_to(leaves, says(POD), leaves) as (client, script):
        assert await client.patch(f"{PODS}/a", POD) == POD
        assert len(script.asked) == 2
        with pytest.raises(ApiError, match="the connection was broken off"):
            await client.create(PODS, POD)
    assert len(script.asked) == 4


async def test_a_server_that_speaks_no_http_is_an_error_and_none_of_its_words_are_lost() -> None:
    async def part(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        assert isinstance(request.transport, asyncio.WriteTransport)
        request.transport.write(b"SSH-2.0-x\r\n")
        request.transport.close()
        return web.Response()

    async with speaking_to(part) as (client, _):
        with pytest.raises(ApiError) as caught:
            await client.get(PODS)
    assert caught.value.status == 0


@pytest.mark.parametrize("given", ["file", "data", "none"])
async def test_a_server_of_another_authority_is_told_with_the_file_that_says_whom_to_trust(
    tmp_path: Path, given: str
) -> None:
    servers, other = (tmp_path / "a", tmp_path / "b")
    for place in (servers, other):
        place.mkdir()
    certificate, key = Authority(servers).server("server", ["127.0.0.1"])
    trusted = Authority(other).certificate
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    authority = {"file": Pem(path=trusted), "data": Pem(trusted.read_bytes()), "none": None}[given]
    words = {
        "file": f"what is trusted is {trusted} of kubeconfig test",
        "data": "what is trusted is certificate-authority-data of kubeconfig test",
        "none": "kubeconfig test names no certificate-authority, so that those of this machine are trusted",
    }
    async with Script(says(POD)).serve(tls) as script:
        client = Client(lambda: Access("kubeconfig test", Server(script.url, authority), User()), 0, 0)
        try:
            with pytest.raises(ApiError, match="TLS: ") as caught:
                await client.get(PODS)
        finally:
            await client.close()
    assert words[given] in caught.value.reason
    assert "authority that signed the server's" in caught.value.mend


async def test_a_gzipped_answer_is_read() -> None:
    async with speaking_to(says(gzip.compress(orjson.dumps(POD)), Content_Encoding="gzip")) as (client, script):
        assert await client.get(PODS) == POD
        assert script.asked[0].headers["Accept-Encoding"] == "gzip"


async def test_a_refusal_has_the_reason_and_message_of_its_status() -> None:
    async with speaking_to(refuses(409, "Conflict", "the object has been modified")) as (client, _):
        with pytest.raises(ApiError, match="the object has been modified") as caught:
            await client.replace(f"{PODS}/a", POD)
    assert (caught.value.status, caught.value.code) == (409, "Conflict")


async def test_a_refusal_without_a_status_shows_its_text() -> None:
    async with speaking_to(says(b"<html>bad gateway</html>", 502)) as (client, _):
        with pytest.raises(ApiError, match="bad gateway") as caught:
            await client.get(PODS)
    assert (caught.value.status, caught.value.code) == (502, "")


async def test_deleting_what_is_gone_is_no_error_and_another_uid_is() -> None:
    async with speaking_to(refuses(404, "NotFound"), refuses(409, "Conflict")) as (client, _):
        await client.delete(f"{PODS}/a")
        with pytest.raises(ApiError):
            await client.delete(f"{PODS}/a", "another")


@pytest.mark.parametrize("code", [429, 503])
async def test_retry_after_is_waited_for_and_tried_again(code: int) -> None:
    async with speaking_to(refuses(code, "Busy", Retry_After="0.01"), says(POD)) as (client, script):
        assert await client.get(PODS) == POD
    assert len(script.asked) == 2


async def test_a_server_that_stays_busy_is_an_error_after_a_few_tries() -> None:
    async with speaking_to(refuses(429, "TooManyRequests", Retry_After="0.01")) as (client, script):
        with pytest.raises(ApiError) as caught:
            await client.create(PODS, POD)
    assert caught.value.status == 429
    assert len(script.asked) == tested.TRIES


@pytest.mark.parametrize("headers", [{}, {"Retry_After": "3600"}])
async def test_without_a_short_retry_after_the_caller_is_told_at_once(headers: dict[str, str]) -> None:
    async with speaking_to(refuses(503, "ServiceUnavailable", **headers)) as (client, script):
        with pytest.raises(ApiError) as caught:
            await client.get(PODS)
    assert len(script.asked) == 1
    assert caught.value.retry_after_s == float(headers.get("Retry_After", 0))


async def test_a_server_that_hangs_is_left_after_the_deadline() -> None:
    async with speaking_to(hangs(), deadline_s=0.05) as (client, _):
        with pytest.raises(ApiError, match="no answer in") as caught:
            await client.get(PODS)
    assert caught.value.status == 0


async def test_half_an_answer_is_an_error() -> None:
    async with speaking_to(says(b'{"half": ')) as (client, _):
        with pytest.raises(ApiError, match="not JSON"):
            await client.get(PODS)


async def test_a_server_that_is_away_is_an_error_of_status_0() -> None:
    async with speaking_to(says(POD)) as (_, script):
        url = script.url
    client = Client(lambda: Access("kubeconfig test", Server(url), User()), 0, 0)
    try:
        with pytest.raises(ApiError, match="cannot be connected") as caught:
            await client.get(PODS)
        assert caught.value.status == 0
    finally:
        await client.close()


async def test_a_closed_client_says_so() -> None:
    async with speaking_to(says(POD)) as (client, _):
        await client.close()
        with pytest.raises(ApiError, match="closed"):
            await client.get(PODS)


async def test_an_expired_token_is_read_anew_and_the_request_tried_once_more(tmp_path: Path) -> None:
    file = file_with(tmp_path / "token", "old\n")
    expired = refuses(401, "Unauthorized")
    async with speaking_to(says(POD), expired, says(POD), user=User(token_file=file)) as (client, script):
        await client.get(PODS)
        file_with(file, "new\n")
        assert await client.get(PODS) == POD
    assert [one.headers["Authorization"] for one in script.asked] == ["Bearer old", "Bearer old", "Bearer new"]


async def test_a_401_that_stays_is_told_after_one_more_try() -> None:
    async with speaking_to(refuses(401, "Unauthorized"), user=User(token="t")) as (client, script):
        with pytest.raises(ApiError) as caught:
            await client.get(PODS)
    assert caught.value.status == 401
    assert len(script.asked) == 2


async def test_a_changed_token_file_is_used_within_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podherd.kube.credentials.CHECK_S", 0.0)
    file = file_with(tmp_path / "token", "one")
    async with speaking_to(says(POD), user=User(token_file=file)) as (client, script):
        await client.get(PODS)
        file.unlink()
        await client.get(PODS)
        file_with(file, "the second")
        await client.get(PODS)
    sent = [one.headers["Authorization"] for one in script.asked]
    assert sent == ["Bearer one", "Bearer one", "Bearer the second"]


async def test_a_configuration_that_comes_later_is_used_then() -> None:
    there: list[Access] = []

    def source() -> Access:
        if not there:
            raise ConfigError("kubeconfig f", "there is no such file", "wait")
        return there[0]

    async with speaking_to(says(POD)) as (_, script):
        client = Client(source, 0, 0)
        try:
            with pytest.raises(ApiError, match="there is no such file"):
                await client.get(PODS)
            there.append(Access("kubeconfig f", Server(script.url), User()))
            assert await client.get(PODS) == POD
        finally:
            await client.close()


async def test_certificates_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    file = file_with(tmp_path / "client.pem", "nothing")
    access = Access("kubeconfig f", Server("https://127.0.0.1:1"), User(Pem(path=file), Pem(path=file)))
    client = Client(lambda: access, 0, 0)
    try:
        with pytest.raises(ApiError, match=r"client-certificate .*client\.pem"):
            await client.get(PODS)
    finally:
        await client.close()
