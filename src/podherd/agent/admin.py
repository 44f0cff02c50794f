"""The command line's side of the admin socket: plain HTTP of the standard library, so that a command starts at once."""

import http.client
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from podherd.errors import PodherdError
from podherd.model.settings import Settings

if TYPE_CHECKING:
    from podherd.agent.websocket import WebSocket

CONNECT_S = 5.0
REPLY_S = 30.0


class AgentAwayError(PodherdError):
    """No agent answers on the socket."""


class AnswerError(PodherdError):
    """The agent answered with an error."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over the unix socket `path`. timeout_s: of each wait for the answer; None waits for ever."""

    def __init__(self, path: Path, timeout_s: float | None) -> None:
        super().__init__("podherd", timeout=CONNECT_S)
        self._path = path
        self._timeout_s = timeout_s

    def connect(self) -> None:
        """Connect to the socket in place of a host and port."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(CONNECT_S)
        self.sock.connect(str(self._path))
        self.sock.settimeout(self._timeout_s)


class Admin:
    """Questions to the agent whose root directory this is."""

    def __init__(self, root_dir: Path) -> None:
        self.root_dir = root_dir
        self._socket = Settings(node_name="", root_dir=root_dir, runtime_endpoint="").admin_socket

    def get(self, *path: str, **query: Any) -> Any:
        """The JSON of `/v1/<path…>`. Raises AgentAwayError, AnswerError."""
        with self.stream(*path, timeout_s=REPLY_S, **query) as response:
            return json.loads(response.read())

    def post(self, *path: str, timeout_s: float | None = None) -> Any:
        """The JSON answer to an order; without a time limit unless one is given."""
        with self._open("POST", _target(path, {}), timeout_s) as response:
            return json.loads(response.read())

    @contextmanager
    def stream(self, *path: str, timeout_s: float | None = None, **query: Any) -> Iterator[http.client.HTTPResponse]:
        """An answer to read as it comes. Raises AgentAwayError, AnswerError."""
        with self._open("GET", _target(path, query), timeout_s) as response:
            yield response

    def upgrade(self, *path: str, **query: Any) -> "WebSocket":
        """A WebSocket at `/v1/<path…>`. Raises AgentAwayError, AnswerError."""
        from podherd.agent.websocket import WebSocket

        try:
            return WebSocket(self._socket, _target(path, query))
        except TimeoutError as error:
            raise AgentAwayError("agent", "does not answer", "podherd doctor") from error
        except OSError as error:
            raise self._away(error) from error

    @contextmanager
    def _open(self, method: str, target: str, timeout_s: float | None) -> Iterator[http.client.HTTPResponse]:
        connection = UnixConnection(self._socket, timeout_s)
        try:
            try:
                connection.request(method, target)
                response = connection.getresponse()
            except TimeoutError as error:
                raise AgentAwayError("agent", "does not answer", "podherd doctor") from error
            except (OSError, http.client.HTTPException) as error:
                raise self._away(error) from error
            if response.status != 200:
                raise _answer_error(response)
            yield response
        finally:
            connection.close()

    def _away(self, error: Exception) -> AgentAwayError:
        if isinstance(error, PermissionError):
            return AgentAwayError(str(self._socket), "is open to its owner alone", "run the command as root, with sudo")
        reason = f"no podherd runs with the root directory {self.root_dir}"
        return AgentAwayError("agent", reason, f"start one: podherd run --root-dir {self.root_dir}; or give --root-dir")


def _target(path: tuple[str, ...], query: Mapping[str, Any]) -> str:
    words = {key: value for key, value in query.items() if value not in (None, "", False)}
    words = {key: 1 if value is True else value for key, value in words.items()}
    target = "/v1/" + "/".join(quote(part, safe="") for part in path)
    return f"{target}?{urlencode(words, doseq=True)}" if words else target


def _answer_error(response: http.client.HTTPResponse) -> AnswerError:
    body = response.read()
    try:
        words = json.loads(body)
        return AnswerError(words["thing"], words["reason"], words["mend"])
    except (ValueError, KeyError, TypeError):
        return AnswerError("agent", f"HTTP {response.status}: {body[:200].decode(errors='replace')}", "podherd doctor")
