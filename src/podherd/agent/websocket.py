"""The command line's WebSocket over the admin socket (RFC 6455): binary messages both ways, standard library alone.

Blocking, so that a slow terminal slows the command that writes to it. Messages are masked with a key of zeros: what the
mask is for, proxies on the way, is not there on a unix socket.
"""

import base64
import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from podherd.agent.admin import CONNECT_S, AnswerError
from podherd.errors import PodherdError

PROTOCOL = "v5.channel.k8s.io"
ANSWER_S = 60.0
"""Time for the agent to find the container and open the runtime's streams."""
_BINARY, _CLOSE, _PING, _PONG = 2, 8, 9, 10
_ZERO_KEY = bytes(4)


class WebSocket:
    """An open socket. `send` may be called by several threads; `messages` by one."""

    def __init__(self, path: Path, target: str) -> None:
        """Connect and upgrade. Raises OSError, AnswerError with the agent's own words."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._reader: BufferedReader = self._socket.makefile("rb")
        self._sending = threading.Lock()
        try:
            self._socket.settimeout(CONNECT_S)
            self._socket.connect(str(path))
            self._socket.settimeout(ANSWER_S)
            self._socket.sendall(_request(target))
            self.headers = self._answer()
            self._socket.settimeout(None)
        except BaseException:
            self.close()
            raise

    def _answer(self) -> dict[str, str]:
        """The headers of the agent's 101, by their names in small letters."""
        status = self._reader.readline(1024).decode("latin-1").split(" ", 2)
        headers = {}
        while line := self._reader.readline(65536).decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if len(status) < 2 or status[1] != "101":
            raise _refused(status, self._reader.read(int(headers.get("content-length", 0))))
        return headers

    def messages(self) -> Iterator[bytes]:
        """Binary messages until the agent closes. Raises OSError when the socket breaks."""
        while True:
            try:
                kind, data = self._frame()
            except EOFError:
                return
            if kind == _BINARY:
                yield data
            elif kind == _PING:
                self._send(_PONG, data)
            elif kind == _CLOSE:
                return

    def _frame(self) -> tuple[int, bytes]:
        first, length = self._read(2)
        length &= 0x7F
        if length == 126:
            (length,) = struct.unpack(">H", self._read(2))
        elif length == 127:
            (length,) = struct.unpack(">Q", self._read(8))
        return first & 0x0F, self._read(length)

    def _read(self, count: int) -> bytes:
        data = self._reader.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def send(self, data: bytes) -> None:
        """Send one binary message, waiting while the agent does not read. Raises OSError."""
        self._send(_BINARY, data)

    def _send(self, kind: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", 0x80 | kind, 0x80 | size)
        elif size < 65536:
            head = struct.pack(">BBH", 0x80 | kind, 0x80 | 126, size)
        else:
            head = struct.pack(">BBQ", 0x80 | kind, 0x80 | 127, size)
        with self._sending:
            self._socket.sendall(head + _ZERO_KEY + data)

    def close(self) -> None:
        """End it at once; the reader, too, holds the socket open."""
        self._reader.close()
        self._socket.close()


def _request(target: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return (
        f"GET {target} HTTP/1.1\r\nHost: podherd\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n"
    ).encode()


def _refused(status: list[str], body: bytes) -> PodherdError:
    try:
        words = json.loads(body)
        return AnswerError(words["thing"], words["reason"], words["mend"])
    except (ValueError, KeyError, TypeError):
        text = " ".join(status[1:]).strip() or "closed the connection"
        return AnswerError("agent", f"HTTP {text}: {body[:200].decode(errors='replace')}", "podherd doctor")
