"""From the URL that a CRI Exec, Attach or PortForward call answers with to a SPDY session."""

import asyncio
import socket
import ssl
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from podherd.cri.streams.line import Line, SocketLine, StreamLine
from podherd.cri.streams.session import Session
from podherd.errors import CriError

CONNECT_S = 10.0
HEAD_LIMIT_BYTES = 64 * 1024
WORDS_BYTES = 2000
PROTOCOL_HEADER = "X-Stream-Protocol-Version"


async def connect(url: str, protocol: str) -> Session:
    """A session in which both sides speak `protocol`, such as `v4.channel.k8s.io`. Raises CriError.

    url: answers once, and within a minute; it comes from the runtime over its socket and may be http or https.
    """
    try:
        async with asyncio.timeout(CONNECT_S):
            return await _connect(urlsplit(url), protocol)
    except TimeoutError as error:
        raise _failed(f"did not answer within {CONNECT_S:g} s", "DEADLINE_EXCEEDED") from error
    except (OSError, ValueError, EOFError) as error:
        raise _failed(f"cannot be spoken to: {error}") from error


def _failed(reason: str, code: str = "UNAVAILABLE") -> CriError:
    mend = "look at the runtime's own log; `podherd doctor` asks the runtime itself"
    return CriError("the runtime's streaming server", code, reason, mend)


async def _connect(url: SplitResult, protocol: str) -> Session:
    line = await _line(url)
    try:
        await line.write(_request(url, protocol))
        status, headers = parse_head(await line.read_until(b"\r\n\r\n", HEAD_LIMIT_BYTES))
        if " 101 " not in f"{status} ":
            limit = min(WORDS_BYTES, int(headers.get("content-length", WORDS_BYTES)))
            words = (await line.read_rest(limit)).decode(errors="replace")
            raise _failed(f"refused: {words.strip() or status}", "UNKNOWN")
        if headers.get(PROTOCOL_HEADER.lower(), protocol) != protocol:
            raise _failed(f"speaks {headers[PROTOCOL_HEADER.lower()]}, not {protocol}", "UNIMPLEMENTED")
    except BaseException:
        await line.close()
        raise
    return Session(line)


async def _line(url: SplitResult) -> Line:
    host, tls = url.hostname or "", url.scheme == "https"
    port = url.port or (443 if tls else 80)
    if tls:
        return StreamLine(*await asyncio.open_connection(host, port, ssl=_tls(host), limit=HEAD_LIMIT_BYTES))
    return SocketLine(await _socket(host, port))


async def _socket(host: str, port: int) -> socket.socket:
    """A connection to the first of the host's addresses that takes one."""
    loop = asyncio.get_running_loop()
    failed: OSError = OSError(f"{host} has no address")
    for family, kind, _, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind)
        sock.setblocking(False)
        try:
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failed = error
            continue
        except BaseException:
            sock.close()
            raise
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock
    raise failed


def _request(url: SplitResult, protocol: str) -> bytes:
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return (
        f"POST {target} HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        f"{PROTOCOL_HEADER}: {protocol}\r\nContent-Length: 0\r\n\r\n"
    ).encode()


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    """The first line of an HTTP message, and its headers by their names in small letters."""
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    return first, {name.strip().lower(): value.strip() for name, _, value in pairs}


def _tls(host: str) -> ssl.SSLContext:
    """A runtime that makes its own certificate is trusted on this machine alone."""
    context = ssl.create_default_context()
    if _is_loopback(host):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
