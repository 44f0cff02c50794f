"""What a request carries to be let in: the TLS context and the bearer token, as the files and plugins have them now."""

import asyncio
import os
import ssl
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from podherd.errors import ConfigError
from podherd.kube.config import Access, Pem
from podherd.kube.exec_plugin import Handed, Plugin

CHECK_S = 1.0
"""How often files are looked at, at most; a rotated certificate or token is used this soon."""

_Mark = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Pass:
    """For one request. context: None for a server without TLS."""

    context: ssl.SSLContext | None
    token: str = field(repr=False)


class Credentials:
    """Those of one Access. What was read last stands while a file is missing or half written."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._plugin = Plugin(access) if access.user.plugin else None
        self._pass: Pass | None = None
        self._mark: _Mark | None = None
        self._handed = Handed()
        self._looked_at = 0.0

    async def current(self) -> Pass:
        """For the next request. Raises ConfigError when there is nothing that could be used."""
        now = asyncio.get_running_loop().time()
        handed = await self._plugin.current() if self._plugin else self._handed
        due = self._pass is None or now - self._looked_at >= CHECK_S
        if due or handed is not self._handed:
            self._looked_at = now
            self._renew(handed)
        assert self._pass is not None
        return self._pass

    def refused(self, used: Pass) -> None:
        """The server said 401 to this: look at everything anew before the next request, unless another did so."""
        if used is not self._pass:
            return
        self._mark, self._looked_at = None, float("-inf")
        if self._plugin:
            self._plugin.forget()

    def _renew(self, handed: Handed) -> None:
        mark = self._marks()
        if mark == self._mark and handed is self._handed and self._pass is not None:
            return
        try:
            self._pass = self._read(handed)
        except ConfigError:
            if self._pass is None or handed is not self._handed:
                raise
            return
        # A mark from before the reading: what changed meanwhile is read again.
        self._mark, self._handed = mark, handed

    def _read(self, handed: Handed) -> Pass:
        server, user = self._access.server, self._access.user
        token = handed.token or (self._token(user.token_file) if user.token_file else user.token)
        if not server.url.startswith("https:"):
            return Pass(None, token)
        certificate, key = user.certificate, user.key
        if user.rotated and user.rotated.exists():
            certificate = key = Pem(path=user.rotated)
        if handed.certificate:
            certificate, key = Pem(handed.certificate), Pem(handed.key)
        return Pass(self._context(server.authority, certificate, key), token)

    def _token(self, file: Path) -> str:
        try:
            token = file.read_text().strip()
        except (OSError, ValueError) as error:
            raise ConfigError(self._access.thing, f"token file {file} cannot be read: {error}", "check it") from error
        if not token:
            raise ConfigError(self._access.thing, f"token file {file} is empty", "write the token into it")
        return token

    def _context(self, authority: Pem | None, certificate: Pem | None, key: Pem | None) -> ssl.SSLContext:
        thing = self._access.thing
        try:
            context = _trusting(authority)
        except (OSError, ValueError) as error:
            mend = "give the PEM of the server's certificate authority"
            raise ConfigError(thing, f"certificate-authority{_of(authority)}: {_words(error)}", mend) from error
        try:
            if certificate and key:
                _load_chain(context, certificate.read(), key.read())
        except (OSError, ValueError) as error:
            reason = f"client-certificate{_of(certificate)} and client-key{_of(key)}: {_words(error)}"
            raise ConfigError(thing, reason, "give a certificate and its key, both as PEM") from error
        return context

    def _marks(self) -> _Mark:
        """Tells whether any of the files has changed."""
        server, user = self._access.server, self._access.user
        paths = [one.path for one in (server.authority, user.certificate, user.key) if one]
        return tuple(_mark(path) for path in (*paths, user.token_file, user.rotated) if path)


def _mark(path: Path) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def _trusting(authority: Pem | None) -> ssl.SSLContext:
    """Checks the server's certificate and name, by this authority alone if there is one."""
    context = ssl.create_default_context(cadata=authority.read().decode("ascii") if authority else None)
    # Python 3.13 asks for extensions that certificates of many clusters do not have, and Go does not ask for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load_chain(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL takes files only: ones that live in memory, so that no key gets on a disk."""
    with ExitStack() as stack:
        names = []
        for data in (certificate, key):
            file = stack.enter_context(open(os.memfd_create("pem"), "wb"))
            file.write(data)
            file.flush()
            names.append(f"/proc/self/fd/{file.fileno()}")
        # Without the password, OpenSSL would ask on the terminal for an encrypted key's.
        context.load_cert_chain(names[0], names[1], password="")


def _of(pem: Pem | None) -> str:
    return f" {pem.path}" if pem and pem.path else ""


def _words(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return f"cannot be used: {error.reason or error}"
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else "is not PEM"
