"""Reading a kubeconfig: its current context's cluster and user. What podherd cannot do is refused, never left out."""

import base64
import binascii
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from podherd.errors import ConfigError, ManifestError
from podherd.kube.config import Access, ExecPlugin, Pem, Server, User
from podherd.model.document import decode
from podherd.model.nearest import nearest
from podherd.model.url import without_secrets

EXEC_GROUP = "client.authentication.k8s.io"
EXEC_VERSIONS = (f"{EXEC_GROUP}/v1", f"{EXEC_GROUP}/v1beta1")
_EXEC_EXTENSION = f"{EXEC_GROUP}/exec"
_CLUSTER = (
    "server",
    "certificate-authority",
    "certificate-authority-data",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "proxy-url",
    "disable-compression",
    "extensions",
)
_KEYS = ("client-certificate", "client-certificate-data", "client-key", "client-key-data")
_USER = (*_KEYS, "token", "tokenFile", "exec", "extensions")
_REFUSED = {
    "auth-provider": "use exec with a credential plugin",
    "username": "use client-certificate and client-key, a token, or exec",
    "password": "use client-certificate and client-key, a token, or exec",
    "as": "give the user's own credentials",
    "as-uid": "give the user's own credentials",
    "as-groups": "give the user's own credentials",
    "as-user-extra": "give the user's own credentials",
}
_EXEC = ("apiVersion", "command", "args", "env", "provideClusterInfo", "installHint", "interactiveMode")
_MODES = ("", "Never", "IfAvailable", "Always")


def load(file: Path) -> Access:
    """The server and user of the file's current context. Raises ConfigError, with the field and the mend."""
    thing = f"kubeconfig {file}"
    try:
        document = decode(file.read_bytes(), thing, "Config")
    except OSError as error:
        raise ConfigError(thing, f"cannot be read: {error.strerror}", "check the path and its permissions") from error
    except ManifestError as error:
        raise ConfigError(error.thing, error.reason, error.mend) from error
    whole = _Fields(thing, file.parent, "", document)
    context = whole.chosen("contexts", "context", whole.text("current-context"), "current-context")
    cluster = whole.chosen("clusters", "cluster", context.text("cluster"), context.path("cluster"))
    name = context.text("user")
    user = whole.chosen("users", "user", name, context.path("user")) if name else _Fields(thing, file.parent, "", {})
    return Access(thing, _server(cluster), _user(user, cluster))


def _server(cluster: "_Fields") -> Server:
    if cluster.truth("insecure-skip-tls-verify"):
        mend = "remove it, and give certificate-authority or certificate-authority-data"
        cluster.refuse("insecure-skip-tls-verify", "is not allowed: the server's certificate is always checked", mend)
    cluster.known(_CLUSTER, {})
    authority = cluster.pem("certificate-authority")
    compress = not cluster.truth("disable-compression")
    return Server(_url(cluster), authority, cluster.text("tls-server-name"), _proxy(cluster), compress)


def _url(cluster: "_Fields") -> str:
    """The server's URL. One without TLS would send credentials in the clear, so it must be this machine's."""
    text = cluster.text("server")
    if not text:
        cluster.refuse("server", "is missing", "give the URL of the API server, such as https://10.0.0.1:6443")
    address = text if "://" in text else f"https://{text}"
    parts = urlsplit(address)
    if parts.scheme not in ("https", "http") or not _hostname(address) or parts.query or parts.fragment:
        cluster.refuse("server", f"{without_secrets(text)} is not a URL of a server", "write https://host:port")
    if parts.scheme == "http" and not is_loopback(_hostname(address)):
        cluster.refuse("server", f"{text} is without TLS", "write https://, or use an address of loopback")
    return address.rstrip("/")


def _proxy(cluster: "_Fields") -> str:
    text = cluster.text("proxy-url")
    if text and (urlsplit(text).scheme not in ("http", "https") or not _hostname(text)):
        reason = f"{without_secrets(text)} is not a URL of an HTTP proxy"
        cluster.refuse("proxy-url", reason, "write http://host:port or https://host:port; SOCKS is not spoken")
    return text


def _hostname(url: str) -> str:
    """Empty for one that has none, or a port that is no number."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "" if parts.port != 0 else ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether it is this machine for sure."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _user(user: "_Fields", cluster: "_Fields") -> User:
    user.known(_USER, _REFUSED)
    certificate, key = user.pem("client-certificate"), user.pem("client-key")
    if (certificate is None) != (key is None):
        lacking = "client-key" if key is None else "client-certificate"
        user.refuse(lacking, "is missing beside its other half", f"give {lacking} or {lacking}-data")
    token_file = user.file("tokenFile")
    plugin = _plugin(user, cluster) if user.has("exec") else None
    return User(certificate, key, user.text("token"), token_file, plugin)


def _plugin(user: "_Fields", cluster: "_Fields") -> ExecPlugin:
    fields = user.below("exec")
    fields.known(_EXEC, {})
    version, command, mode = fields.text("apiVersion"), fields.text("command"), fields.text("interactiveMode")
    if version not in EXEC_VERSIONS:
        fields.refuse("apiVersion", f"{version or 'nothing'} is not spoken", f"use one of {', '.join(EXEC_VERSIONS)}")
    if not command:
        fields.refuse("command", "is missing", "name the plugin's program")
    if mode not in _MODES:
        fields.refuse("interactiveMode", f"{mode} is not known", "use Never or IfAvailable")
    if mode == "Always":
        fields.refuse(
            "interactiveMode", "Always cannot be: nobody sits at a node's terminal", "use Never or IfAvailable"
        )
    if "/" in command:
        command = str(fields.home / command)
    env = tuple((one.text("name"), one.text("value")) for one in fields.each("env"))
    share, hint = fields.truth("provideClusterInfo"), fields.text("installHint")
    return ExecPlugin(version, command, fields.texts("args"), env, share, hint, _extension(cluster))


def _extension(cluster: "_Fields") -> Any:
    """What the cluster's `extensions` hold for credential plugins, or None."""
    every = cluster.each("extensions")
    return next((one.values.get("extension") for one in every if one.text("name") == _EXEC_EXTENSION), None)


@dataclass(frozen=True, slots=True)
class _Fields:
    """One mapping of the file. where: its path in there, for errors; home: the directory that paths start from."""

    thing: str
    home: Path
    where: str
    values: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise ConfigError(
                self.thing, f"{self.where or 'the document'} is not a mapping", "see `kubectl config view`"
            )

    def path(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def refuse(self, name: str, reason: str, mend: str) -> None:
        raise ConfigError(self.thing, f"{self.path(name)}: {reason}", mend)

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def known(self, names: Iterable[str], refused: Mapping[str, str]) -> None:
        """Refuse every other field; `refused`: the mend for known ones that podherd does not do."""
        names = tuple(names)
        for name in [name for name, value in self.values.items() if value is not None and name not in names]:
            if name in refused:
                self.refuse(name, "is not supported", refused[name])
            close = nearest(str(name), names)
            self.refuse(name, "is not known", f"did you mean {close}?" if close else "remove it")

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            self.refuse(name, "is not a string", "write it in quotes")
        return value or ""

    def truth(self, name: str) -> bool:
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            self.refuse(name, "is neither true nor false", "write true or false")
        return bool(value)

    def texts(self, name: str) -> tuple[str, ...]:
        found = self._list(name)
        if any(not isinstance(one, str) for one in found):
            self.refuse(name, "is not a list of strings", "write each in quotes")
        return tuple(found)

    def each(self, name: str) -> list["_Fields"]:
        where = self.path(name)
        return [_Fields(self.thing, self.home, f"{where}[{at}]", one) for at, one in enumerate(self._list(name))]

    def below(self, name: str) -> "_Fields":
        return _Fields(self.thing, self.home, self.path(name), self.values.get(name) or {})

    def file(self, name: str) -> Path | None:
        """A path of the file, from the file's own directory where it is relative."""
        text = self.text(name)
        return self.home / text if text else None

    def pem(self, name: str) -> Pem | None:
        """`<name>-data`, which wins, or the file that `name` is."""
        if data := self.text(f"{name}-data"):
            return Pem(self._decoded(f"{name}-data", data))
        file = self.file(name)
        return Pem(path=file) if file else None

    def chosen(self, names: str, inner: str, name: str, asked_by: str) -> "_Fields":
        """The entry of that name in one of the file's lists, such as `users[admin].user`."""
        if not name:
            raise ConfigError(self.thing, f"{asked_by}: is missing", f"name one of {names}")
        for one in self.each(names):
            if one.text("name") == name:
                found = one.values.get(inner)
                return _Fields(self.thing, self.home, f"{names}[{name}].{inner}", {} if found is None else found)
        there = [one.text("name") for one in self.each(names)]
        mend = f"there is {', '.join(there)}" if there else f"add it to {names}"
        raise ConfigError(self.thing, f"{asked_by}: there is no {inner} {name}", mend)

    def _list(self, name: str) -> list[Any]:
        found = self.values.get(name)
        if found is not None and not isinstance(found, list):
            self.refuse(name, "is not a list", "see `kubectl config view`")
        return found or []

    def _decoded(self, name: str, text: str) -> bytes:
        try:
            return base64.b64decode("".join(text.split()), validate=True)
        except binascii.Error as error:
            raise ConfigError(self.thing, f"{self.path(name)}: is not base64", "encode the PEM text") from error
