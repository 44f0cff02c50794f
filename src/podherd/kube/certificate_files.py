"""The client certificate on disk, under the kubelet's names, and the kubeconfig that points to it. All calls block."""

import base64
import os
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from podherd.errors import ConfigError
from podherd.kube.config import CURRENT, Access, Pem

PENDING_KEY = "kubelet-client.key.tmp"
"""The key of a request that is not answered yet: who crashes meanwhile asks for the same again."""


def write_pair(pki: Path, certificate: bytes, key: bytes, now: datetime) -> Path:
    """Both as PEM into `kubelet-client-<time>.pem`, and the link to it; a reader sees the old pair or the new one."""
    pki.mkdir(mode=0o755, parents=True, exist_ok=True)
    file = pki / f"kubelet-client-{now:%Y-%m-%d-%H-%M-%S}.pem"
    write_private(file, certificate.rstrip() + b"\n" + key)
    with tempfile.TemporaryDirectory(dir=pki, prefix=".link-") as place:
        link = Path(place) / CURRENT
        link.symlink_to(file)
        link.replace(pki / CURRENT)
    return file


def write_private(file: Path, data: bytes) -> None:
    """The file for its owner alone, whole or as it was. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")
    try:
        with open(descriptor, "wb") as made:
            made.write(data)
            made.flush()
            os.fsync(descriptor)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise


def pending_key(pki: Path) -> ec.EllipticCurvePrivateKey:
    """The key of the request under way; made and kept where there is none that can be read. P-256."""
    file = pki / PENDING_KEY
    try:
        key = serialization.load_pem_private_key(file.read_bytes(), None)
        if isinstance(key, ec.EllipticCurvePrivateKey):
            return key
    except (OSError, ValueError, TypeError):
        pass
    pki.mkdir(mode=0o755, parents=True, exist_ok=True)
    made = ec.generate_private_key(ec.SECP256R1())
    write_private(file, key_pem(made))
    return made


def forget_pending(pki: Path) -> None:
    """The request is answered, for good or bad."""
    (pki / PENDING_KEY).unlink(missing_ok=True)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The form that OpenSSL and Go read, not encrypted."""
    form = serialization.PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def certificate_of(access: Access) -> x509.Certificate | None:
    """The user's own; None for one that has none. Raises ConfigError for one that cannot be read."""
    user = access.user
    pem = Pem(path=user.rotated) if user.rotated and user.rotated.exists() else user.certificate
    if pem is None:
        return None
    try:
        return x509.load_pem_x509_certificates(pem.read())[0]
    except (OSError, ValueError) as error:
        where = f" {pem.path}" if pem.path else ""
        raise ConfigError(access.thing, f"client-certificate{where} cannot be read: {error}", "check it") from error


def write_kubeconfig(file: Path, first: Access, pki: Path) -> None:
    """Server and trust as in the bootstrap kubeconfig, the user from the certificate directory."""
    file.parent.mkdir(parents=True, exist_ok=True)
    current = str((pki / CURRENT).absolute())
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "default-cluster", "cluster": _cluster(first)}],
        "users": [{"name": "default-auth", "user": {"client-certificate": current, "client-key": current}}],
        "contexts": [{"name": "default-context", "context": {"cluster": "default-cluster", "user": "default-auth"}}],
        "current-context": "default-context",
    }
    write_private(file, orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _cluster(first: Access) -> dict[str, Any]:
    server = first.server
    cluster: dict[str, Any] = {"server": server.url}
    if server.authority and server.authority.path:
        cluster["certificate-authority"] = str(server.authority.path.absolute())
    elif server.authority:
        cluster["certificate-authority-data"] = base64.b64encode(server.authority.data).decode()
    if server.tls_name:
        cluster["tls-server-name"] = server.tls_name
    if server.proxy_url:
        cluster["proxy-url"] = server.proxy_url
    if not server.compress:
        cluster["disable-compression"] = True
    return cluster
