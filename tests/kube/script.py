"""A scripted API server on loopback, for the faults that a real one does not produce on demand."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from podherd.kube.client import Client
from podherd.kube.config import Access, Server, User

PODS = "/api/v1/pods"
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Script:
    """Answers each request with the next part; the last part answers all others too. `asked` has what was asked."""

    def __init__(self, *parts: Answer) -> None:
        self._parts = list(parts)
        self.asked: list[web.Request] = []
        self.bodies: list[bytes] = []
        self.url = ""

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        self.bodies.append(await request.read())
        part = self._parts.pop(0) if len(self._parts) > 1 else self._parts[0]
        return await part(request)

    @asynccontextmanager
    async def serve(self, tls: ssl.SSLContext | None = None) -> AsyncIterator["Script"]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.answer)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"{'https' if tls else 'http'}://{host}:{port}"
        try:
            yield self
        finally:
            await runner.cleanup()


@asynccontextmanager
async def speaking_to(*parts: Answer, user: User | None = None, **words: Any) -> AsyncIterator[tuple[Client, Script]]:
    """A client, and the server that answers it with these parts."""
    async with Script(*parts).serve() as script:
        access = Access("kubeconfig test", Server(script.url), user or User())
        client = Client(lambda: access, 0, 0, **words)
        try:
            yield client, script
        finally:
            await client.close()


def says(body: Any, status: int = 200, **headers: str) -> Answer:
    """This JSON, or these bytes."""

    async def part(_request: web.Request) -> web.StreamResponse:
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=data, status=status, headers=named, content_type="application/json")

    return part


def refuses(code: int, reason: str, message: str = "no", **headers: str) -> Answer:
    """A v1.Status."""
    return says({"kind": "Status", "code": code, "reason": reason, "message": message}, code, **headers)


def lists(*names: str, version: str = "10", rest: str = "") -> Answer:
    """A page of pods."""
    items = [{"metadata": {"name": name, "resourceVersion": version}} for name in names]
    metadata = {"resourceVersion": version, "continue": rest}
    return says({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items})


def event(kind: str, name: str, version: str) -> bytes:
    """A line of a watch."""
    body = {"kind": "Pod", "metadata": {"name": name, "resourceVersion": version}}
    return orjson.dumps({"type": kind, "object": body}) + b"\n"


def error_event(code: int, reason: str) -> bytes:
    """How a watch tells of its end."""
    return orjson.dumps({"type": "ERROR", "object": {"kind": "Status", "code": code, "reason": reason}}) + b"\n"


def watch(*pieces: bytes, torn: bool = False) -> Answer:
    """These bytes, then the end; torn: the connection breaks instead of ending."""

    async def part(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.enable_chunked_encoding()
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        if torn:
            assert request.transport is not None
            request.transport.close()
        return response

    return part


def hangs(*pieces: bytes) -> Answer:
    """These bytes, or no answer at all, and then nothing until the client leaves."""

    async def part(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if pieces:
            await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        await asyncio.Event().wait()
        return response

    return part


def hangs_up(body: Any) -> Answer:
    """This JSON, and then the end of the connection, of which the answer said nothing."""

    async def part(request: web.Request) -> web.StreamResponse:
        data = orjson.dumps(body)
        response = web.StreamResponse()
        response.content_type = "application/json"
        response.content_length = len(data)
        await response.prepare(request)
        await response.write(data)
        await response.write_eof()
        assert request.transport is not None
        request.transport.close()
        return response

    return part


def file_with(place: Path, text: str) -> Path:
    """A file of a token."""
    place.write_text(text)
    return place
