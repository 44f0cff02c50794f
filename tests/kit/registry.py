"""A registry on loopback that gives one small image to whoever has a name and a password. Read-only."""

import base64
import hashlib
import json
import re
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from podherd.agent.provision.images import BUSYBOX, write_archive
from podherd.agent.provision.packages import static_busybox

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_PATH = re.compile(r"/v2/(.+)/(manifests|blobs)/([^/?]+)")


class Registry:
    """Serves busybox under every name and tag. asked: each answer's status and path, in order."""

    def __init__(self, place: Path, user: str, password: str) -> None:
        self._secret = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        self._blobs, self._manifest = _image(place, label=f"registry {id(self)}")
        self.asked: list[tuple[int, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="registry")

    @property
    def host(self) -> str:
        """Host and port, as an image's name begins."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def docker_config(self, user: str, password: str) -> str:
        """A `.dockerconfigjson` for it."""
        return json.dumps({"auths": {self.host: {"username": user, "password": password}}})

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str, authorization: str | None) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers."""
        if authorization != self._secret:
            error = {"errors": [{"code": "UNAUTHORIZED", "message": "who are you?"}]}
            return HTTPStatus.UNAUTHORIZED, json.dumps(error).encode(), {"WWW-Authenticate": 'Basic realm="test"'}
        if path in ("/v2", "/v2/"):
            return HTTPStatus.OK, b"{}", {}
        found = _PATH.match(path)
        digest = self._manifest if found and not found[3].startswith("sha256:") else found[3] if found else ""
        if (data := self._blobs.get(digest)) is None:
            return HTTPStatus.NOT_FOUND, b'{"errors":[{"code":"NAME_UNKNOWN"}]}', {}
        kind = _MANIFEST if found and found[2] == "manifests" else "application/octet-stream"
        return HTTPStatus.OK, data, {"Content-Type": kind, "Docker-Content-Digest": digest}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, data, headers = registry.answer(self.path, self.headers.get("Authorization"))
                registry.asked.append((int(status), self.path))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            do_HEAD = do_GET  # noqa: N815 - the name is the library's

            def log_message(self, *_args: Any) -> None:
                """Nothing."""

        return Handler


@contextmanager
def registry(place: Path, user: str, password: str) -> Iterator[Registry]:
    """A registry that runs; place: a directory for its files."""
    running = Registry(place, user, password)
    running.start()
    try:
        yield running
    finally:
        running.stop()


def _image(place: Path, label: str) -> tuple[dict[str, bytes], str]:
    """Blobs by digest, and the manifest's. label: makes it another image than the sample, with another id."""
    busybox = static_busybox()
    assert busybox
    archive = place / "images.tar"
    write_archive(archive, busybox)
    with tarfile.open(archive) as tar:
        files = {member.name: tar.extractfile(member) for member in tar}
        read = {name: file.read() for name, file in files.items() if file is not None}
    blobs = {f"sha256:{name.rpartition('/')[2]}": data for name, data in read.items() if name.startswith("blobs/")}
    entries = json.loads(read["index.json"])["manifests"]
    entry = next(one for one in entries if one["annotations"]["io.containerd.image.name"] == BUSYBOX)
    manifest = json.loads(blobs[entry["digest"]])
    config = json.loads(blobs[manifest["config"]["digest"]])
    config["config"]["Labels"] = {"of": label}
    manifest["config"] |= _stored(blobs, json.dumps(config).encode())
    return blobs, _stored(blobs, json.dumps(manifest).encode())["digest"]


def _stored(blobs: dict[str, bytes], data: bytes) -> dict[str, Any]:
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    blobs[digest] = data
    return {"digest": digest, "size": len(data)}
