"""Lifecycle hooks: what each kind does, what counts as a failure, and what a postStart holds up."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web
from cri_api.v1 import api_pb2 as pb
from tests.kit.virtual_loop import run_virtually

from podherd.errors import CriError
from podherd.machines.pod.events import HookEnded, Started, StartFailed
from podherd.machines.pod.instructions import Plan, StartContainer
from podherd.model import keys
from podherd.steps import hooks, http_get
from podherd.steps.deeds import Deed
from podherd.steps.runner import perform

EXEC = {"exec": {"command": ["touch", "/ready"]}}


class Server:
    """Answers GETs on 127.0.0.1 and notes what was asked."""

    def __init__(self) -> None:
        self.asked: list[web.Request] = []
        self.port = 0
        self.status = 200
        self._runner = web.AppRunner(self._app())

    def _app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._answer)
        return app

    async def _break_off(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Length": "100"})
        await answer.prepare(request)
        await answer.write(b"half")
        assert request.transport is not None
        request.transport.close()
        return answer

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        if request.path == "/onward":
            raise web.HTTPFound("/there")
        if request.path == "/elsewhere":
            raise web.HTTPFound("http://nowhere.test/")
        if request.path == "/round":
            raise web.HTTPFound(f"/round?{len(self.asked)}")
        if request.path == "/packed":
            return web.Response(body=b"no gzip", headers={"Content-Encoding": "gzip"})
        if request.path == "/cut":
            return await self._break_off(request)
        return web.Response(status=self.status, text="x" * 50_000)

    async def start(self, context: ssl.SSLContext | None = None) -> None:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    one = Server()
    await one.start()
    yield one
    await one.stop()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """With a certificate that nobody has signed."""
    tmp_path = tmp_path_factory.mktemp("tls")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=a-pod", "-days", "1"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


@pytest.fixture
async def tls_server(tls: ssl.SSLContext) -> AsyncIterator[Server]:
    one = Server()
    await one.start(tls)
    yield one
    await one.stop()


def http(server: Server, **fields: Any) -> dict[str, Any]:
    return {"httpGet": {"path": "/bye", "port": server.port, "scheme": "HTTP", **fields}}


async def run(bench: Any, handler: Any, ports: Any = (), ip: str = "127.0.0.1", pod: Any = None) -> str:
    """Empty when the hook succeeded, else why not."""
    try:
        await hooks.run(bench.context(Plan(), pod), handler, hooks.Target("preStop", "c1", "web", ip, ports))
    except hooks.HookError as error:
        return error.text
    return ""


async def test_exec_runs_without_a_time_limit(bench: Any) -> None:
    assert await run(bench, EXEC) == ""
    assert bench.cri.calls == [("exec_sync", "c1", ("touch", "/ready"), 0)]


async def test_a_command_that_fails_is_told_with_its_output(bench: Any) -> None:
    bench.cri.exec_reply = pb.ExecSyncResponse(exit_code=3, stdout=b"half\n", stderr=b"why \xff")
    assert await run(bench, EXEC) == (
        'Exec lifecycle hook ([touch /ready]) for Container "web" in Pod "web_shop(u1)" failed - error: '
        "command 'touch /ready' exited with 3: why \ufffd, message: \"half\nwhy \ufffd\""
    )


async def test_an_exec_that_the_runtime_refuses_has_failed(bench: Any) -> None:
    bench.cri.fail["exec_sync"] = CriError("CRI ExecSync", "UNKNOWN", "no such file")
    assert (await run(bench, EXEC)).endswith('failed - error: no such file, message: ""')


async def test_http_get_asks_the_pod_with_the_kubelets_headers(bench: Any, server: Server) -> None:
    headers = [{"name": "X-Why", "value": "a"}, {"name": "x-why", "value": "b"}, {"name": "Host", "value": "me.test"}]
    assert await run(bench, http(server, path="/a b?c=%20d", httpHeaders=headers)) == ""
    (asked,) = server.asked
    assert (asked.method, asked.raw_path) == ("GET", "/a%20b?c=%20d")
    assert (asked.headers["User-Agent"], asked.headers["Accept"]) == ("kube-lifecycle/1.37", "*/*")
    assert (asked.headers["X-Why"], asked.headers["Host"]) == ("a, b", "me.test")


async def test_a_given_user_agent_and_accept_stand(bench: Any, server: Server) -> None:
    headers = [{"name": "user-agent", "value": "me"}, {"name": "accept", "value": "text/plain"}]
    await run(bench, http(server, httpHeaders=headers))
    assert (server.asked[0].headers["User-Agent"], server.asked[0].headers["Accept"]) == ("me", "text/plain")


async def test_http_get_goes_to_the_host_that_is_named(bench: Any, server: Server) -> None:
    assert await run(bench, http(server, host="127.0.0.1"), ip="192.0.2.1") == ""
    thing = 'HTTP lifecycle hook (/bye) for Container "web" in Pod "web_shop(u1)"'
    assert await run(bench, http(server), ip="") == f"{thing} failed - error: the pod has no address yet"


async def test_ports_by_name_come_from_the_spec_or_from_the_annotations(bench: Any, server: Server) -> None:
    ports = [{"name": "other", "containerPort": 1}, {"name": "admin", "containerPort": server.port}]
    assert await run(bench, http(server, port="admin"), ports) == ""
    bench.cri.annotations = {keys.CONTAINER_PORTS: f'[{{"name":"admin","containerPort":{server.port}}}]'}
    assert await run(bench, http(server, port="admin"), None) == ""
    assert await run(bench, http(server, port=str(server.port))) == ""
    assert len(server.asked) == 3
    assert (await run(bench, http(server, port="none"), ports)).endswith('the container has no port named "none"')
    bench.cri.fail["container_status"] = CriError("CRI ContainerStatus", "NOT_FOUND", "gone")
    assert (await run(bench, http(server, port="admin"), None)).endswith("gone")


@pytest.mark.parametrize("status", [204, 399, 400, 503])
async def test_any_answer_is_success(bench: Any, server: Server, status: int) -> None:
    server.status = status
    assert (await run(bench, http(server))) == ""


@pytest.mark.parametrize("path", ["/packed", "/cut"])
async def test_what_is_in_the_answer_does_not_matter(bench: Any, server: Server, path: str) -> None:
    assert await run(bench, http(server, path=path)) == ""
    assert [asked.path for asked in server.asked] == [path]


async def test_a_redirect_is_followed_on_the_same_host_only_and_not_for_ever(bench: Any, server: Server) -> None:
    assert await run(bench, http(server, path="/onward")) == ""
    assert [asked.path for asked in server.asked] == ["/onward", "/there"]
    assert await run(bench, http(server, path="/elsewhere")) == ""
    assert (await run(bench, http(server, path="/round"))).endswith("stopped after 10 redirects")


async def test_a_port_where_nobody_listens_and_a_header_that_cannot_be_are_failures(bench: Any, server: Server) -> None:
    await server.stop()
    assert "failed - error: Cannot connect to host 127.0.0.1" in await run(bench, http(server))
    evil = [{"name": "X", "value": "a\r\nY: b"}]
    assert "failed - error: " in await run(bench, http(server, httpHeaders=evil))


async def test_https_does_not_verify_the_certificate(bench: Any, tls_server: Server) -> None:
    assert await run(bench, http(tls_server, scheme="HTTPS")) == ""
    assert bench.events == []


async def test_https_that_is_answered_in_http_is_asked_again_in_http_without_credentials(
    bench: Any, server: Server
) -> None:
    headers = [{"name": "Authorization", "value": "secret"}, {"name": "X-Kept", "value": "1"}]
    assert await run(bench, http(server, scheme="HTTPS", httpHeaders=headers)) == ""
    assert "Authorization" not in server.asked[-1].headers
    assert server.asked[-1].headers["X-Kept"] == "1"
    host = f"127.0.0.1:{server.port}"
    said = f"request to HTTPS lifecycle hook {host} got HTTP response, retry with HTTP succeeded"
    assert bench.told() == [("Warning", "LifecycleHTTPFallback", said)]


@pytest.mark.parametrize(
    ("args", "url"),
    [
        (("http", "fd00::2", 80, "x"), "http://[fd00::2]/x"),
        (("https", "10.0.0.1", 8443, ""), "https://10.0.0.1:8443/"),
        (("http", "h", 80, "/a%2Fb?x=1&y=%26#z"), "http://h/a%2Fb?x=1&y=%26"),
    ],
)
def test_addresses(args: Any, url: str) -> None:
    assert str(http_get.url_of(*args)) == url


def test_sleep_sleeps(bench: Any) -> None:
    async def timed() -> float:
        await hooks.run(bench.context(Plan()), {"sleep": {"seconds": 9}}, hooks.Target("preStop", "c1", "web", ""))
        return asyncio.get_running_loop().time()

    assert run_virtually(timed()) == 9


async def test_hooks_that_the_runtime_does_not_run_are_noted(bench: Any, server: Server) -> None:
    deeds: list[Deed] = []
    bench.tools.note = deeds.append
    assert await run(bench, http(server)) == ""
    assert await run(bench, http(server, path="/round")) != ""
    assert [(deed.call, deed.target, deed.error[-12:]) for deed in deeds] == [
        ("preStop httpGet", "web", ""),
        ("preStop httpGet", "web", "10 redirects"),
    ]


@pytest.mark.parametrize("handler", [{"tcpSocket": {"port": 1}}, {}])
async def test_what_is_no_hook_is_an_error(bench: Any, handler: Any) -> None:
    assert (await run(bench, handler)).endswith("failed - error: invalid handler")


# postStart


def hooked(make_pod: Any, **lifecycle: Any) -> Any:
    return make_pod({}, {"name": "web", "lifecycle": lifecycle}, {"name": "other"})


PLAN = Plan(sandbox_id="s0", start=(StartContainer("web", 0), StartContainer("other", 0)))


async def test_the_next_container_waits_for_a_post_start_hook(bench: Any, make_pod: Any) -> None:
    gate = bench.cri.gate["exec_sync"] = asyncio.Event()
    task = asyncio.create_task(perform(bench.context(PLAN, hooked(make_pod, postStart=EXEC))))
    await bench.until(lambda: "exec_sync" in bench.cri.methods())
    for _ in range(20):
        await asyncio.sleep(0)
    assert bench.cri.methods()[-2:] == ["start_container", "exec_sync"]
    gate.set()
    synced = await task
    assert synced.results == (Started("web", "web-0", 0), Started("other", "other-0", 0))


async def test_a_failed_post_start_hook_stops_its_container_and_no_other(bench: Any, make_pod: Any) -> None:
    bench.cri.exec_reply = pb.ExecSyncResponse(exit_code=1)
    synced = await perform(bench.context(PLAN, hooked(make_pod, postStart=EXEC, preStop=EXEC)))
    ended, failed, other = synced.results
    assert (ended, other) == (HookEnded("web-0"), Started("other", "other-0", 0))
    assert (failed.name, failed.reason, failed.image_pull) == ("web", "PostStartHookError", False)
    assert failed.message.startswith("Exec lifecycle hook ([touch /ready]) for Container")
    assert bench.told()[3:6] == [
        ("Warning", "FailedPostStartHook", "PostStartHook failed"),
        ("Normal", "Killing", "FailedPostStartHook"),
        ("Warning", "FailedPreStopHook", "PreStopHook failed"),
    ]
    assert ("stop_container", "web-0", 30) in bench.cri.calls


async def test_a_pod_without_grace_has_no_pre_stop_hook_after_a_failed_post_start(bench: Any, make_pod: Any) -> None:
    bench.cri.exec_reply = pb.ExecSyncResponse(exit_code=1)
    pod = make_pod(
        {"terminationGracePeriodSeconds": 0}, {"name": "web", "lifecycle": {"postStart": EXEC, "preStop": EXEC}}
    )
    synced = await perform(bench.context(Plan(sandbox_id="s0", start=(StartContainer("web", 0),)), pod))
    assert [type(result) for result in synced.results] == [StartFailed]
    assert bench.cri.methods().count("exec_sync") == 1
    assert ("stop_container", "web-0", 2) in bench.cri.calls


async def test_a_cancel_breaks_a_post_start_hook_off_and_says_that_the_container_runs(
    bench: Any, make_pod: Any
) -> None:
    bench.cri.gate["exec_sync"] = asyncio.Event()
    context = bench.context(PLAN, hooked(make_pod, postStart=EXEC))
    task = asyncio.create_task(perform(context))
    await bench.until(lambda: "exec_sync" in bench.cri.methods())
    context.cancel()
    async with asyncio.timeout(1):
        synced = await task
    assert (synced.cancelled, synced.results) == (True, (Started("web", "web-0", 0),))


async def test_a_post_start_hook_asks_the_pods_own_address(bench: Any, make_pod: Any, server: Server) -> None:
    bench.cri.ips = ("127.0.0.1",)
    pod = make_pod({}, {
        "name": "web",
        "ports": [{"name": "admin", "containerPort": server.port, "protocol": "TCP"}],
        "lifecycle": {"postStart": http(server, port="admin")},
    })  # fmt: skip
    await perform(bench.context(Plan(sandbox_id="s0", start=(StartContainer("web", 0),)), pod))
    assert [asked.path for asked in server.asked] == ["/bye"]
