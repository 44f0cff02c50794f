"""The GET of an httpGet hook (kubelet behaviour, section 3.8)."""

import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import aiohttp
from yarl import URL

from podherd.model.pod import Body

OURS = {"User-Agent": "kube-lifecycle/1.37", "Accept": "*/*"}
REDIRECTS = 10
DRAIN_BYTES = 10 << 10
"""So much of the answer's body is waited for."""
_REDIRECT = (301, 302, 303, 307, 308)
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG")
"""What OpenSSL says of a server that answers in plain text."""


class _PlainAnswerError(OSError):
    """A server that was asked over TLS answered in plain text."""


async def get(action: Body, host: str, port: int) -> bool:
    """Ask once, as v1.HTTPGetAction says; whether HTTPS was asked for and plain HTTP did it.

    Any answer will do, whatever its status and its body, as with the kubelet. Raises OSError or ValueError for a
    request that cannot be made and an answer that is none. Certificates are not verified: the server is a pod's own.
    """
    scheme = (action.get("scheme") or "HTTP").lower()
    headers = headers_of(action.get("httpHeaders") or ())
    url = url_of(scheme, host, port, action.get("path") or "")
    try:
        await _ask(url, headers)
    except _PlainAnswerError:
        plain = {name: value for name, value in headers.items() if name.lower() != "authorization"}
        await _ask(url.with_scheme("http").with_port(port), plain)
        return True
    return False


def url_of(scheme: str, host: str, port: int, path: str) -> URL:
    """The address; `path` may have a query. What is escaped in it stays so."""
    path, mark, query = path.partition("#")[0].partition("?")
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    where = quote(path if path.startswith("/") else f"/{path}", safe="/%:@!$&'()*+,;=~")
    return URL(f"{scheme}://{name}:{port}{where}{mark}{quote(query, safe='/%:@!$&()*+,;=~?')}", encoded=True)


def headers_of(given: Iterable[Body]) -> dict[str, str]:
    """The action's headers by the name's first spelling, values of one name joined; ours where it has none."""
    headers: dict[str, str] = {}
    names: dict[str, str] = {}
    for each in given:
        name = names.setdefault(each["name"].lower(), each["name"])
        value = each.get("value") or ""
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return {name: value for name, value in OURS.items() if name.lower() not in names} | headers


async def _ask(url: URL, headers: dict[str, str]) -> None:
    try:
        await _follow(url, headers)
    except aiohttp.ClientError as error:
        kind = _PlainAnswerError if _answers_plainly(error) else OSError
        raise kind(str(error) or type(error).__name__) from error


async def _follow(url: URL, headers: dict[str, str]) -> None:
    """One GET and, on the same host, where it is sent on to."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=None)
    options: dict[str, Any] = {"headers": headers, "allow_redirects": False, "ssl": False}
    plain: dict[str, Any] = {"skip_auto_headers": ("Accept-Encoding",), "auto_decompress": False}
    async with aiohttp.ClientSession(timeout=timeout, **plain) as session:
        for _ in range(REDIRECTS + 1):
            async with session.get(url, **options) as answer:
                await _drain(answer.content)
                onward = url.join(URL(answer.headers.get("Location", "")))
                if answer.status not in _REDIRECT or onward.host != url.host or onward == url:
                    return
                url = onward
        raise OSError(f"stopped after {REDIRECTS} redirects")


async def _drain(body: aiohttp.StreamReader) -> None:
    """Take a little of it as it comes, packed or not; one that breaks off is no failure of the hook."""
    left = DRAIN_BYTES
    with suppress(aiohttp.ClientError):
        async for chunk in body.iter_chunked(left):
            left -= len(chunk)
            if left <= 0:
                return


def _answers_plainly(error: aiohttp.ClientError) -> bool:
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorSSLError) else None
    return isinstance(cause, ssl.SSLError) and cause.reason in _NO_TLS
