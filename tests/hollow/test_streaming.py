"""What the pretended commands do, and how the streaming server of the hollow runtime refuses."""

import asyncio

import pytest

from podherd.hollow.behaviour import UNSCRIPTED, Behaviour
from podherd.hollow.pretend import run
from podherd.hollow.records import RUNNING, Container, Sandbox
from podherd.hollow.refusal import RefusedError
from podherd.hollow.streaming import TICKETS, StreamServer, Ticket, Wants


class Paper:
    """Streams of which everything is written down."""

    def __init__(self, *stdin: bytes) -> None:
        self._stdin = list(stdin)
        self.out_said = b""
        self.err_said = b""

    async def read(self) -> bytes:
        """The next piece."""
        return self._stdin.pop(0) if self._stdin else b""

    async def out(self, data: bytes) -> None:
        """Note it."""
        self.out_said += data

    async def err(self, data: bytes) -> None:
        """Note it."""
        self.err_said += data

    async def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return 24, 80


@pytest.mark.parametrize(
    ("command", "code", "out", "err"),
    [
        (["cat"], 0, b"ab", b""),
        (["echo", "a", "b"], 0, b"a b\n", b""),
        (["sh", "-c", "echo 'a  b' >&2; exit 3; echo never"], 3, b"", b"a  b\n"),
        (["/bin/sh", "-c", "false\nexit"], 1, b"", b""),
        (["head", "-c", "40000", "/dev/zero"], 0, bytes(40_000), b""),
        (["stty", "size"], 0, b"24 80\r\n", b""),
        (["true"], 0, b"", b""),
        (["unheard-of", "cat"], 0, b"", b""),
    ],
)
async def test_a_pretended_command(command: list[str], code: int, out: bytes, err: bytes) -> None:
    paper = Paper(b"a", b"b")
    assert await run(command, paper, UNSCRIPTED) == code
    assert (paper.out_said, paper.err_said) == (out, err)


async def test_an_unknown_command_does_what_is_scripted() -> None:
    paper = Paper()
    assert await run(["x"], paper, Behaviour(exec_stdout="o", exec_stderr="e", exec_exit_code=4)) == 4
    assert (paper.out_said, paper.err_said) == (b"o", b"e")
    with pytest.raises(RefusedError, match="no such thing"):
        await run(["x"], paper, Behaviour(exec_error="no such thing"))


@pytest.fixture
def ticket() -> Ticket:
    sandbox = Sandbox("s", "r", "web", "default", "u", 0, {}, {}, "", "")
    container = Container("c", sandbox, "r", "app", 0, {}, {}, "i", "i", "", state=RUNNING)
    return Ticket(container, ("true",), Wants(), UNSCRIPTED)


async def test_only_so_many_urls_wait_and_one_without_an_upgrade_is_refused(ticket: Ticket) -> None:
    server = StreamServer()
    urls = [await server.url(ticket) for _ in range(TICKETS + 1)]

    async def ask(url: str) -> bytes:
        host, _, rest = url.removeprefix("http://").partition("/")
        reader, writer = await asyncio.open_connection(*host.split(":"))
        writer.write(f"POST /{rest} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer

    assert (await ask(urls[0])).startswith(b"HTTP/1.1 404")
    assert (await ask(urls[1])).endswith(b"unable to upgrade: missing upgrade headers in request")
    await server.close()
