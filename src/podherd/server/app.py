"""The admin application: every path in one list, served on a root-only unix socket."""

import os
import socket
from pathlib import Path

from aiohttp import web

from podherd.errors import ConfigError
from podherd.model.sockets import SOCKET_PATH_BYTES
from podherd.server.log_page import LogPage
from podherd.server.node_pages import NodePages
from podherd.server.pod_pages import PodPages
from podherd.server.replies import errors
from podherd.server.stream_page import StreamPage
from podherd.server.top_page import TopPage

CLOSE_S = 1.0
"""How long open streams may go on when the server stops."""


def build(pods: PodPages, logs: LogPage, streams: StreamPage, top: TopPage, node: NodePages) -> web.Application:
    """All routes of the admin API."""
    app = web.Application(middlewares=[errors])
    app.add_routes([
        web.get("/healthz", node.health),
        web.get("/v1/pods", pods.list),
        web.get("/v1/summary", pods.summary),
        web.get("/v1/pods/{namespace}/{name}", pods.one),
        web.get("/v1/pod", pods.one),
        web.get("/v1/events", pods.events),
        web.get("/v1/problems", pods.problems),
        web.get("/v1/watch", pods.watch),
        web.get("/v1/logs/{namespace}/{name}", logs.get),
        web.get("/v1/log", logs.get),
        web.get("/v1/exec", streams.exec),
        web.get("/v1/attach", streams.attach),
        web.get("/v1/top", top.get),
        web.get("/v1/node", node.node),
        web.get("/v1/images", node.images),
        web.get("/v1/actors", node.actors),
        web.get("/v1/agent", node.agent),
        web.post("/v1/drain", node.drain),
    ])  # fmt: skip
    return app


def bind(path: Path) -> socket.socket:
    """A listening socket that only its owner may open; takes the place of a dead server's. Raises ConfigError."""
    if len(os.fsencode(path)) > SOCKET_PATH_BYTES:
        raise ConfigError(f"socket {path}", f"is longer than {SOCKET_PATH_BYTES} bytes", "choose a shorter --root-dir")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        os.fchmod(listener.fileno(), 0o600)  # before bind, so that the file is never open to others
        listener.bind(os.fspath(path))
        path.chmod(0o600)
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


async def serve(app: web.Application, path: Path) -> web.AppRunner:
    """Begin to serve; `cleanup()` of the answer ends it."""
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=CLOSE_S)
    await runner.setup()
    await web.SockSite(runner, bind(path)).start()
    return runner
