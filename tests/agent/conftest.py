"""A fake admin server: canned answers on a real unix socket, and what was asked of it."""

import http.server
import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

Answer = tuple[int, Any, dict[str, str]]


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    answers: dict[str, Answer]
    asked: list[tuple[str, dict[str, str]]]
    missing: dict[str, Any]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer from the table; bytes go out as they are, all else as JSON."""
        parts = urlsplit(self.path)
        self.server.asked.append((parts.path, {key: values[0] for key, values in parse_qs(parts.query).items()}))
        unknown = {"thing": parts.path, "reason": "not in the test's table", "mend": "add it"}
        code, body, headers = self.server.answers.get(parts.path, (404, unknown, {}))
        if missing := self.server.missing.get(self.server.asked[-1][1].get("pod", "")):
            code, body = 404, missing
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(BrokenPipeError):  # the client has seen enough
            self.wfile.write(data)

    def address_string(self) -> str:
        """A unix socket's client has none."""
        return "client"

    def log_message(self, *args: object) -> None:
        """Nothing on stderr."""


class FakeAgent:
    """An agent as the command line sees it."""

    def __init__(self, root_dir: Path, server: _Server) -> None:
        self.root_dir = root_dir
        self._server = server

    @property
    def asked(self) -> list[tuple[str, dict[str, str]]]:
        """Paths and queries, in order."""
        return self._server.asked

    def say(self, path: str, body: Any, code: int = 200, **headers: str) -> None:
        """Answer `path` with this."""
        self._server.answers[path] = (code, body, headers)

    def miss(self, pod: str, body: Any) -> None:
        """Answer 404 with this whenever that pod is asked for."""
        self._server.missing[pod] = body


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[FakeAgent]:
    root_dir = tmp_path / "root"
    root_dir.mkdir()
    server = _Server(str(root_dir / "podherd.sock"), _Handler)
    server.answers, server.asked, server.missing = {}, [], {}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield FakeAgent(root_dir, server)
    server.shutdown()
    thread.join()
    server.server_close()


Podherd = Callable[..., tuple[int, str, str]]


@pytest.fixture
def podherd(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Podherd:
    """Run a command line in this process: exit code, stdout, stderr."""
    from podherd.agent import cli

    monkeypatch.delenv("PODHERD_ROOT", raising=False)

    def call(*words: object) -> tuple[int, str, str]:
        code = cli.call([str(word) for word in words])
        captured = capfdbinary.readouterr()
        return code, captured.out.decode(), captured.err.decode()

    return call
