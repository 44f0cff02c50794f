"""A small, plain client of the test's API server: requests and watches as admin or as another user, no cleverness."""

import http.client
import json
import ssl
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from tests.kit.cluster import ControlPlane

ANSWER_S = 30.0


class Refused(Exception):  # noqa: N818 it is an answer
    """The API server answered with an error; `code` is HTTP's, `body` its Status object or its text."""

    def __init__(self, code: int, body: bytes) -> None:
        super().__init__(f"{code}: {body[:500].decode(errors='replace')}")
        self.code = code
        self.body = body


class Api:
    """One TLS connection. `user`: stem of a kubeconfig that the control plane wrote; a certificate's, not a token's."""

    def __init__(self, cluster: ControlPlane, user: str = "admin", answer_s: float = ANSWER_S) -> None:
        context = ssl.create_default_context(cafile=str(cluster.authority.certificate))
        context.load_cert_chain(cluster.home / f"{user}.crt", cluster.home / f"{user}.key")
        address = urlsplit(cluster.server)
        self._wire = http.client.HTTPSConnection(
            address.hostname or "", address.port, context=context, timeout=answer_s
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; the next request makes a new one."""
        self._wire.close()

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """The JSON answer, or the bytes of one that is none. body: sent as JSON; bytes as they are. Raises Refused."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            self._wire.request(method, path, data, {"Content-Type": kind, "Accept": "application/json"})
            answer = self._wire.getresponse()
            told = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.status >= 400:
            raise Refused(answer.status, told)
        return json.loads(told) if answer.headers.get_content_type() == "application/json" else told

    def lines(self, path: str) -> Iterator[dict[str, Any]]:
        """The events of a watch, until the server ends it. Raises Refused, and OSError when the connection breaks."""
        self._wire.request("GET", path)
        answer = self._wire.getresponse()
        if answer.status >= 400:
            raise Refused(answer.status, answer.read())
        while line := answer.readline():
            yield json.loads(line)


def pods_path(namespace: str = "default", name: str = "", sub: str = "") -> str:
    """The path of a namespace's pods, of one, or of its subresource."""
    return "/".join(part for part in (f"/api/v1/namespaces/{namespace}/pods", name, sub) if part)
