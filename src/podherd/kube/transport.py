"""One HTTP request with the credentials of the moment; every fault of the way becomes an ApiError of status 0."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from podherd import __version__
from podherd.errors import ApiError, ConfigError
from podherd.kube.config import Access, Server
from podherd.kube.credentials import Credentials, Pass
from podherd.kube.door import Query
from podherd.kube.kubeconfig import is_loopback
from podherd.kube.socket import kept_alive

CONNECT_S = 10.0
KEPT_S = 60.0
"""How long an idle connection is kept; API servers close theirs after 90 s."""
READ_BYTES = 256 * 1024

_LEFT_TO_US = frozenset({"POST", "PATCH"})

Source = Callable[[], Access]
"""Raises ConfigError while there is nothing to go by."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request. path: already quoted; kind: content type of the body."""

    method: str
    path: str
    query: Query | None = None
    body: bytes | None = None
    kind: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """The connections of one client. Made in a running loop."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._access: Access | None = None
        self._credentials: Credentials | None = None
        # No limit: each watch holds a connection. Connections are pooled by SSL context: with new credentials come new
        # ones, and the old end with the last request on them.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_S, socket_factory=kept_alive)
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            headers={"User-Agent": f"podherd/{__version__}", "Accept": "application/json"},
            read_bufsize=READ_BYTES,
        )

    @asynccontextmanager
    async def send(self, request: Request, idle_s: float | None = None) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer, its body not yet read. idle_s: how long it may be silent.

        A 401 is tried once more with credentials read anew. Raises ApiError of status 0 for faults of the way, in the
        body too; TimeoutError goes through.
        """
        if self._session.closed:
            raise ApiError(str(request), 0, "", "the client is closed")
        try:
            access, credentials = self._who()
            let_in = await credentials.current()
            answer = await self._reached(request, access, let_in, idle_s)
            if answer.status == HTTPStatus.UNAUTHORIZED:
                answer.release()
                credentials.refused(let_in)
                answer = await self._reached(request, access, await credentials.current(), idle_s)
            try:
                yield answer
            finally:
                _let_go(answer)
        except ConfigError as error:
            raise self.unanswered(request, f"{error.thing}: {error.reason}", error.mend) from error
        except TimeoutError:
            raise
        except (aiohttp.ClientError, OSError) as error:
            raise self.unanswered(request, *_words(error, self._access)) from error

    async def close(self) -> None:
        """Break off what is under way."""
        await self._session.close()

    def unanswered(self, request: Request, reason: str, mend: str = "") -> ApiError:
        """The error of a request that got no answer."""
        where = f" at {self._access.server.url}" if self._access else ""
        return ApiError(f"{request}{where}", 0, "", reason, mend)

    def _who(self) -> tuple[Access, Credentials]:
        if self._access is None or self._credentials is None:
            self._access = self._source()
            self._credentials = Credentials(self._access)
        return self._access, self._credentials

    async def _reached(
        self, request: Request, access: Access, let_in: Pass, idle_s: float | None
    ) -> aiohttp.ClientResponse:
        """Where the server has closed an idle connection at this very moment, once more over another one.

        The library does so itself for what is idempotent by HTTP; a POST or PATCH that is lost its callers send again.
        """
        try:
            return await self._sent(request, access, let_in, idle_s)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
            if request.method not in _LEFT_TO_US:
                raise
        return await self._sent(request, access, let_in, idle_s)

    async def _sent(
        self, request: Request, access: Access, let_in: Pass, idle_s: float | None
    ) -> aiohttp.ClientResponse:
        server, headers = access.server, {"Accept-Encoding": "gzip" if access.server.compress else "identity"}
        if let_in.token:
            headers["Authorization"] = f"Bearer {let_in.token}"
        if request.body is not None:
            headers["Content-Type"] = request.kind
        return await self._session.request(
            request.method,
            URL(server.url + request.path, encoded=True).with_query(request.query),
            data=request.body,
            headers=headers,
            ssl=let_in.context or True,
            server_hostname=server.tls_name or None,
            proxy=proxy_of(server) or None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=idle_s),
        )


def _let_go(answer: aiohttp.ClientResponse) -> None:
    """A body that was read whole has given its connection back; else it ends at once, without TLS's long goodbye."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()
    answer.close()


def proxy_of(server: Server) -> str:
    """The proxy's URL: of the kubeconfig, else of the environment as for any program, never for loopback."""
    parts = urlsplit(server.url)
    host = parts.hostname or ""
    if server.proxy_url or is_loopback(host) or proxy_bypass(host):
        return server.proxy_url
    return getproxies().get(parts.scheme, "")


def _words(error: Exception, access: Access | None) -> tuple[str, str]:
    """Reason and mend, without URLs: a proxy's holds a password."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        inner = error.certificate_error
        reason = getattr(inner, "verify_message", "") or getattr(inner, "reason", "") or type(inner).__name__
        mend = "give the certificate of the authority that signed the server's, and its name as tls-server-name"
        return f"TLS: {reason}{_trusted(access)}", mend
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        reason = getattr(error.os_error, "reason", "") or type(error.os_error).__name__
        return f"TLS: {reason}", "check that the server speaks TLS, and the client's certificate"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or error}", "check the client's certificate"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"cannot be connected: {error.os_error.strerror or error.os_error}", ""
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status}", "check proxy-url or HTTPS_PROXY"
    if isinstance(
        error, (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError, ConnectionError)
    ):
        return "the connection was broken off", ""
    return type(error).__name__, ""


def _trusted(access: Access | None) -> str:
    """Which file says whom to trust."""
    if access is None:
        return ""
    authority = access.server.authority
    if authority is None:
        return f"; {access.thing} names no certificate-authority, so that those of this machine are trusted"
    where = authority.path or "certificate-authority-data"
    return f"; what is trusted is {where} of {access.thing}"
