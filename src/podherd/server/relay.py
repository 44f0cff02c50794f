"""A WebSocket of a client and a command in a container, joined: `v5.channel.k8s.io`, each message a channel's bytes.

The first byte of a binary message is the channel: 0 stdin, 1 stdout, 2 stderr, 3 the metav1.Status of the end, 4 the
terminal's size as JSON; 255 and a channel's number close that channel (KEP-4006). Neither side is read while the other
is slow, so what is held is a few messages.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

import orjson
from aiohttp import WSMsgType, web

from podherd.cri.streams.remote import ERROR, RESIZE, STDIN, Remote
from podherd.errors import CriError

PROTOCOL = "v5.channel.k8s.io"
CLOSE = 255
MESSAGE_LIMIT_BYTES = 4 << 20
GOODBYE_S = 2.0
ALIVE_S = 5.0
"""A client is pinged this often: one that vanished while the command does not read its stdin would not be noticed."""


async def relay(request: web.Request, remote: Remote, headers: Mapping[str, str]) -> web.WebSocketResponse:
    """Answer the request with the command's streams until it ends or the client leaves; then all of it is closed."""
    socket = web.WebSocketResponse(
        protocols=(PROTOCOL,), compress=False, max_msg_size=MESSAGE_LIMIT_BYTES, timeout=GOODBYE_S
    )
    socket.headers.update(headers)
    try:
        await socket.prepare(request)
        work = (_outwards(socket, remote), _inwards(socket, remote), _ping(socket))
        ways = [asyncio.create_task(way) for way in work]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
    finally:
        await remote.close()
    with suppress(OSError):
        await socket.close()
    return socket


async def _outwards(socket: web.WebSocketResponse, remote: Remote) -> None:
    """Output and end. A client that is gone ends it."""
    with suppress(OSError):
        try:
            async for channel, data in remote.output():
                await socket.send_bytes(bytes((channel,)) + data)
            status = remote.status
        except CriError as error:
            status = failure(error.reason)
        await socket.send_bytes(bytes((ERROR,)) + status)


async def _ping(socket: web.WebSocketResponse) -> None:
    with suppress(OSError):
        while not socket.closed:
            await asyncio.sleep(ALIVE_S)
            await socket.ping()


async def _inwards(socket: web.WebSocketResponse, remote: Remote) -> None:
    """Stdin and sizes, until the client closes the socket. A message of an unknown channel is let go."""
    async for message in socket:
        if message.type is not WSMsgType.BINARY or not message.data:
            continue
        channel, data = message.data[0], message.data[1:]
        if channel == STDIN:
            await remote.write(data)
        elif channel == RESIZE:
            await remote.resize(data)
        elif channel == CLOSE and data == bytes((STDIN,)):
            await remote.end_stdin()


def failure(message: str) -> bytes:
    """The metav1.Status of a command of which the end is not known."""
    status = {"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError", "code": 500}
    return orjson.dumps(status)
