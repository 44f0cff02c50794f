"""How to reach an API server and as whom: what a kubeconfig or the pod's service account says, as one frozen record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podherd.errors import ConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
CURRENT = "kubelet-client-current.pem"
"""In the certificate directory: a link to the newest client certificate and its key (kubelet behaviour, section 15)."""
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


@dataclass(frozen=True, slots=True)
class Pem:
    """PEM text: in the configuration itself, or a file that may be written anew at any time."""

    data: bytes = field(default=b"", repr=False)
    path: Path | None = None

    def read(self) -> bytes:
        """The bytes as they are now. Raises OSError."""
        return self.data if self.path is None else self.path.read_bytes()


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that hands out credentials (client.authentication.k8s.io).

    command: a bare name is looked for in PATH. cluster_config: the cluster's extension of that name, for the plugin.
    """

    api_version: str
    command: str
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    provide_cluster_info: bool = False
    install_hint: str = ""
    cluster_config: Any = None


@dataclass(frozen=True, slots=True)
class Server:
    """The server. url: without a slash at its end. authority: None: the system's. tls_name: "": the URL's host."""

    url: str
    authority: Pem | None = None
    tls_name: str = ""
    proxy_url: str = field(default="", repr=False)
    compress: bool = True


@dataclass(frozen=True, slots=True)
class User:
    """Who asks; any part may be missing, all of them for an anonymous one. A token file goes before a token.

    rotated: certificate and key in one file, which go before the others once it is there.
    """

    certificate: Pem | None = None
    key: Pem | None = None
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    plugin: ExecPlugin | None = None
    rotated: Path | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """All of it; `thing` names where it comes from, for messages."""

    thing: str
    server: Server
    user: User


def in_cluster(environ: Mapping[str, str], account: Path = SERVICE_ACCOUNT) -> Access:
    """The API server and service account of the pod that this process runs in. Raises ConfigError outside of one."""
    thing, mend = "--in-cluster", "run podherd in a pod, or give --kubeconfig"
    host, port = environ.get(_HOST, ""), environ.get(_PORT, "")
    if not host or not port:
        raise ConfigError(thing, f"the environment has no {_HOST} and {_PORT}", mend)
    token, authority = account / "token", account / "ca.crt"
    for file in (token, authority):
        if not file.is_file():
            raise ConfigError(thing, f"there is no {file}", "let the pod mount its service account's token")
    shown = f"[{host}]" if ":" in host else host
    return Access(thing, Server(f"https://{shown}:{port}", Pem(path=authority)), User(token_file=token))
