"""The command line's WebSocket against a scripted server on a real unix socket."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from podherd.agent.admin import AnswerError
from podherd.agent.websocket import WebSocket

SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nX-Note: a: b\r\n\r\n"
REFUSAL = b'{"thing":"pod x","reason":"is not there","mend":"look"}'
BOUND_S = 10.0


class Server:
    """Takes one connection, answers its request, and gives it to the test."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.answer = SWITCH
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        self._peer, _ = self._listening.accept()
        self._peer.settimeout(BOUND_S)
        while b"\r\n\r\n" not in self._peer.recv(65536):
            continue
        self._peer.sendall(self.answer)

    @property
    def peer(self) -> socket.socket:
        """The server's end."""
        self._thread.join(BOUND_S)
        return self._peer

    def close(self) -> None:
        """Away with it."""
        self.peer.close()
        self._listening.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    one = Server(tmp_path / "s")
    yield one
    one.close()


@pytest.mark.parametrize(("size", "head"), [(5, 2), (125, 2), (126, 4), (65535, 4), (65536, 10)])
def test_messages_of_every_length_go_and_come(server: Server, size: int, head: int) -> None:
    one = WebSocket(server.path, "/v1/exec")
    assert one.headers["x-note"] == "a: b"
    sending = threading.Thread(target=one.send, args=(b"x" * size,))
    sending.start()
    sent = b""
    while len(sent) < head + 4 + size:
        sent += server.peer.recv(65536)
    sending.join()
    assert (sent[0], sent[1] & 0x80, sent[head:]) == (0x82, 0x80, bytes(4) + b"x" * size)
    back = bytes((sent[0], sent[1] & 0x7F)) + sent[2:head] + b"y" * size  # a server's are not masked
    replying = threading.Thread(target=server.peer.sendall, args=(back + b"\x88\0",))
    replying.start()
    assert list(one.messages()) == [b"y" * size]
    replying.join()
    one.close()


def test_a_ping_is_answered_and_the_end_of_the_line_ends_it(server: Server) -> None:
    one = WebSocket(server.path, "/v1/exec")
    server.peer.sendall(b"\x89\x02hi\x82\x01a\x82\x09cut")
    server.peer.shutdown(socket.SHUT_WR)
    assert list(one.messages()) == [b"a"]
    assert server.peer.recv(100) == b"\x8a\x82" + bytes(4) + b"hi"
    one.close()


def test_a_closed_one_is_closed_at_once(server: Server) -> None:
    one = WebSocket(server.path, "/v1/exec")
    one.close()
    assert server.peer.recv(1) == b""


def test_a_refusal_is_told_in_the_agents_words(server: Server) -> None:
    server.answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n%s" % (len(REFUSAL), REFUSAL)
    with pytest.raises(AnswerError) as error:
        WebSocket(server.path, "/v1/exec")
    assert (error.value.thing, error.value.reason, error.value.mend) == ("pod x", "is not there", "look")
    assert server.peer.recv(1) == b""
