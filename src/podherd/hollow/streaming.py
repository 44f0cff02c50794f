"""The streaming server of the hollow runtime: exec and attach over SPDY/3.1, as containerd's (`v4.channel.k8s.io`)."""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import orjson

from podherd.cri.streams.frames import Data, Opened, Reset
from podherd.cri.streams.line import StreamLine
from podherd.cri.streams.remote import PROTOCOL, Wants
from podherd.cri.streams.session import Session
from podherd.cri.streams.upgrade import HEAD_LIMIT_BYTES, PROTOCOL_HEADER, parse_head
from podherd.hollow.behaviour import Behaviour
from podherd.hollow.pretend import run
from podherd.hollow.records import RUNNING, Container
from podherd.hollow.refusal import RefusedError

HOST = "127.0.0.1"
TICKETS = 1000
"""So many URLs may wait for their client; the oldest gives way."""
STDIN_CHUNKS = 16
KILLED = 137
GOODBYE_S = 2.0


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a URL is for. command: empty for attach."""

    container: Container
    command: tuple[str, ...]
    wants: Wants
    behaviour: Behaviour


class StreamServer:
    """Listens from the first URL on."""

    def __init__(self) -> None:
        self._tickets: dict[str, Ticket] = {}
        self._server: asyncio.Server | None = None
        self._starting = asyncio.Lock()
        self._serving: set[asyncio.Task[None]] = set()

    async def url(self, ticket: Ticket) -> str:
        """Where a client finds these streams, once."""
        async with self._starting:
            if self._server is None:
                self._server = await asyncio.start_server(self._accept, HOST, 0, limit=HEAD_LIMIT_BYTES)
        token = secrets.token_urlsafe(6)
        self._tickets[token] = ticket
        if len(self._tickets) > TICKETS:
            del self._tickets[next(iter(self._tickets))]
        port = self._server.sockets[0].getsockname()[1]
        return f"http://{HOST}:{port}/{'exec' if ticket.command else 'attach'}/{token}"

    async def close(self) -> None:
        """End every stream and stop listening."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(StreamLine(reader, writer)))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, line: StreamLine) -> None:
        try:
            with suppress(OSError, EOFError, ValueError):  # the client is gone, or none of ours
                first, headers = parse_head(await line.read_until(b"\r\n\r\n", HEAD_LIMIT_BYTES))
                ticket = self._tickets.pop(first.split(" ")[1].rpartition("/")[2], None)
                if ticket is None:
                    await line.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                elif headers.get("upgrade", "").upper() != "SPDY/3.1":
                    words = b"unable to upgrade: missing upgrade headers in request"
                    await line.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s" % (len(words), words))
                else:
                    await line.write(_SWITCH)
                    await Exchange(Session(line, client=False), ticket).run()
        finally:
            await line.close()


_SWITCH = (
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
    f"{PROTOCOL_HEADER}: {PROTOCOL}\r\n\r\n"
).encode()


class Exchange:
    """One client's streams and the pretend command between them."""

    def __init__(self, session: Session, ticket: Ticket) -> None:
        self._session = session
        self._ticket = ticket
        self._streams: dict[str, int] = {}
        self._stdin: asyncio.Queue[bytes] = asyncio.Queue(STDIN_CHUNKS)
        self._size: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()
        self._ended = False

    async def run(self) -> None:
        """Until the command ends, its container exits or the client leaves."""
        opened = asyncio.Event()
        reading = asyncio.create_task(self._listen(opened))
        working = asyncio.create_task(self._work(opened))

        def killed() -> None:
            working.cancel()

        self._ticket.container.on_exit.append(killed)
        try:
            await asyncio.wait((reading, working), return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                await self._tell(working)
                await asyncio.wait((reading,), timeout=GOODBYE_S)  # until the client has it all
        finally:
            with suppress(ValueError):  # the exit took it away
                self._ticket.container.on_exit.remove(killed)
            for task in (reading, working):
                task.cancel()
            await asyncio.gather(reading, working, return_exceptions=True)

    async def _listen(self, opened: asyncio.Event) -> None:
        wanted = len(self._ticket.wants.channels())
        async for frame in self._session.frames():
            match frame:
                case Opened():
                    self._streams[frame.headers.get("streamtype", "")] = frame.stream
                    await self._session.accept(frame.stream)
                    if len(self._streams) == wanted:
                        opened.set()
                case Data() if frame.stream == self._streams.get("resize"):
                    self._resized(frame.data)
                case Data() if frame.stream == self._streams.get("stdin"):
                    if frame.data:
                        await self._stdin.put(frame.data)
                    if frame.fin:
                        await self._stdin.put(b"")
                case Reset() if frame.stream == self._streams.get("stdin"):
                    await self._stdin.put(b"")

    def _resized(self, data: bytes) -> None:
        told = orjson.loads(data)
        if not self._size.done():
            self._size.set_result((told["Height"], told["Width"]))

    async def _work(self, opened: asyncio.Event) -> int:
        await opened.wait()
        ticket = self._ticket
        if ticket.container.state != RUNNING:
            return KILLED
        # What a container does with its own stdin is not scripted: it says it again, until it exits.
        code = await run(ticket.command or ("cat",), self, ticket.behaviour)
        if not ticket.command:
            await asyncio.Event().wait()
        return code

    async def _tell(self, working: "asyncio.Task[int]") -> None:
        """Ends of the outputs, then the status, as the kubelet's streaming server tells it."""
        for name in ("stdout", "stderr"):
            if name in self._streams:
                await self._session.send(self._streams[name], b"", fin=True)
        if working.cancelled():
            status = _status(KILLED, self._ticket.command)
        elif isinstance(error := working.exception(), RefusedError):
            status = _failed(error.text)
        else:
            status = _status(working.result(), self._ticket.command)
        if "error" in self._streams:
            await self._session.send(self._streams["error"], orjson.dumps(status), fin=True)
        if "stdin" in self._streams:
            await self._session.reset(self._streams["stdin"])

    async def read(self) -> bytes:
        """The next of stdin; nothing where none is asked for."""
        if self._ended or not self._ticket.wants.stdin:
            return b""
        data = await self._stdin.get()
        self._ended = not data
        return data

    async def out(self, data: bytes) -> None:
        """To stdout, if anybody wants it."""
        await self._write("stdout", data)

    async def err(self, data: bytes) -> None:
        """To stderr; a terminal has one output."""
        await self._write("stdout" if self._ticket.wants.tty else "stderr", data)

    async def _write(self, name: str, data: bytes) -> None:
        if name in self._streams:
            await self._session.send(self._streams[name], data)

    async def size(self) -> tuple[int, int]:
        """Rows and columns."""
        return await self._size


def _status(code: int, command: Sequence[str]) -> dict[str, object]:
    if not code or not command:
        return {"metadata": {}, "status": "Success"}
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: error executing command {list(command)}, code {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _failed(text: str) -> dict[str, object]:
    message = f"Internal error occurred: error executing command in container: {text}"
    return {"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError", "code": 500}
