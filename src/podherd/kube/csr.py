"""Asking the cluster for this node's client certificate: a CertificateSigningRequest, and the wait for its answer."""

import asyncio
import base64
import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from podherd.errors import ApiError, PodherdError
from podherd.kube.door import Api, Dropped, Listed, News, Put

SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
USAGES = ("digital signature", "client auth")
ANSWER_S = 900.0
"""How long a request may stay without an answer, as in the kubelet; then another is made."""


class RefusedError(PodherdError):
    """The cluster will not sign this request."""


def request_pem(node: str, key: ec.EllipticCurvePrivateKey) -> bytes:
    """PKCS#10 for `system:node:<node>` in `system:nodes`, which is who the Node authorizer knows as this node."""
    group = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes")
    name = x509.Name([group, x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{node}")])
    builder = x509.CertificateSigningRequestBuilder().subject_name(name)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def name_of(node: str, key: ec.EllipticCurvePrivateKey) -> str:
    """The object's name: the same for the same key and node, so that asking twice makes one request."""
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    public = key.public_key().public_bytes(serialization.Encoding.DER, form)
    return f"node-csr-{hashlib.sha256(public + SIGNER.encode() + node.encode()).hexdigest()[:43]}"


async def certificate(api: Api, node: str, key: ec.EllipticCurvePrivateKey) -> bytes:
    """The signed certificate as PEM, once somebody has approved and signed. Raises ApiError, RefusedError."""
    name = name_of(node, key)
    try:
        await api.create(PATH, _body(name, request_pem(node, key)))
    except ApiError as error:
        if error.status != HTTPStatus.CONFLICT:
            raise
    try:
        async with asyncio.timeout(ANSWER_S):
            return await _answer(api, name)
    except TimeoutError as error:
        mend = f"approve it: kubectl certificate approve {name}"
        raise RefusedError(_thing(name), f"has no answer after {ANSWER_S:g} s", mend) from error


async def _answer(api: Api, name: str) -> bytes:
    answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def told(news: News) -> None:
        if answered.done():
            return
        try:
            if (signed := _signed(name, news)) is not None:
                answered.set_result(signed)
        except RefusedError as error:
            answered.set_exception(error)

    following = asyncio.create_task(api.follow(PATH, {"fieldSelector": f"metadata.name={name}"}, told))
    try:
        await asyncio.wait((answered, following), return_when=asyncio.FIRST_COMPLETED)
        return answered.result() if answered.done() else await _broken_off(following)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _broken_off(following: asyncio.Task[None]) -> bytes:
    await following
    raise asyncio.CancelledError


def _signed(name: str, news: News) -> bytes | None:
    """The certificate that this news brings, if it does. Raises RefusedError."""
    match news:
        case Listed(items) if items:
            return signed(name, items[0])
        case Put(body):
            return signed(name, body)
        case Listed() | Dropped():
            raise RefusedError(_thing(name), "was deleted before it was answered")
    return None


def signed(name: str, body: Mapping[str, Any]) -> bytes | None:
    """The PEM of an answered request, None while there is no answer. Raises RefusedError for Denied and Failed."""
    status = body.get("status") or {}
    for condition in status.get("conditions") or ():
        if condition.get("type") in ("Denied", "Failed"):
            told = condition.get("message") or condition.get("reason") or "no reason given"
            raise RefusedError(_thing(name), f"{condition['type']}: {told}", "see who may approve it in this cluster")
    text = status.get("certificate")
    return base64.b64decode(text) if text else None


def _thing(name: str) -> str:
    return f"CertificateSigningRequest {name}"


def _body(name: str, pem: bytes) -> dict[str, Any]:
    spec = {"request": base64.b64encode(pem).decode(), "signerName": SIGNER, "usages": list(USAGES)}
    kind = "CertificateSigningRequest"
    return {"apiVersion": "certificates.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
