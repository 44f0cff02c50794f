"""A key and certificate for a pod: a PodCertificateRequest, and the wait for its signer (KEP-4317).

The kubelet keeps no state of it on disk, nor does podherd: after a restart of the actor the certificate is asked for
anew with another key.
"""

import asyncio
import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from podherd.errors import ApiError
from podherd.kube.csr import RefusedError
from podherd.kube.door import Api

GROUP = "certificates.k8s.io/v1"
FIRST_S = 0.1
LONGEST_S = 10.0
"""How often the request is looked at: pauses double from the first to the longest, as long as nobody answers."""
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
_KINDS: dict[str, Callable[[], Key]] = {
    "RSA3072": lambda: rsa.generate_private_key(65537, 3072),
    "RSA4096": lambda: rsa.generate_private_key(65537, 4096),
    "ECDSAP256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ECDSAP384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ECDSAP521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "ED25519": ed25519.Ed25519PrivateKey.generate,
}
_BLOCK = re.compile(r"-----BEGIN [A-Z ]+-----\s(.*?)-----END [A-Z ]+-----", re.DOTALL)
_LINE = 64


@dataclass(frozen=True, slots=True)
class Issued:
    """Both as PEM; the key as PKCS#8. Times in epoch seconds."""

    key: str = field(repr=False)
    chain: str
    refresh_at: float
    expires_at: float


async def issue(api: Api, namespace: str, account: str, wanted: Mapping[str, Any], node: str) -> Issued:
    """Ask, and wait as long as it takes. wanted: the detail of a PodCertificate Ref.

    Raises ApiError; RefusedError when its signer will not.
    """
    account_uid = await _uid(api, f"/api/v1/namespaces/{quote(namespace)}/serviceaccounts/{quote(account)}")
    node_uid = await _uid(api, f"/api/v1/nodes/{quote(node)}")
    key, stub = await asyncio.to_thread(_pair, wanted["keyType"])
    path = f"/apis/{GROUP}/namespaces/{quote(namespace)}/podcertificaterequests"
    owner = {"serviceAccountName": account, "serviceAccountUID": account_uid, "nodeName": node, "nodeUID": node_uid}
    made = await api.create(path, _body(namespace, wanted, owner, stub))
    return await _answer(api, f"{path}/{quote(made['metadata']['name'])}", key)


async def _uid(api: Api, path: str) -> str:
    return str((await api.get(path))["metadata"]["uid"])


def _pair(kind: str) -> tuple[str, bytes]:
    """A new key as PEM, and the empty PKCS#10 request, as DER, that proves who has it. Raises RefusedError."""
    if (make := _KINDS.get(kind)) is None:
        raise RefusedError("podCertificate", f'unknown key type "{kind}"', f"use one of {', '.join(_KINDS)}")
    key = make()
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    request = builder.sign(key, None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256())
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    text = key.private_bytes(pem, form, serialization.NoEncryption()).decode()
    return text, request.public_bytes(serialization.Encoding.DER)


def _body(namespace: str, wanted: Mapping[str, Any], owner: Mapping[str, str], stub: bytes) -> dict[str, Any]:
    pod = wanted["pod"]
    reference = {"apiVersion": "v1", "kind": "Pod", **pod}
    spec = {
        "signerName": wanted["signerName"],
        "podName": pod["name"],
        "podUID": pod["uid"],
        **owner,
        "maxExpirationSeconds": wanted.get("maxExpirationSeconds"),
        "unverifiedUserAnnotations": wanted.get("userAnnotations"),
        "stubPKCS10Request": base64.b64encode(stub).decode(),
    }
    metadata = {"namespace": namespace, "generateName": "req-", "ownerReferences": [reference]}
    kind = "PodCertificateRequest"
    return {"apiVersion": GROUP, "kind": kind, "metadata": metadata, "spec": _given(spec)}


def _given(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if value is not None}


async def _answer(api: Api, path: str, key: str) -> Issued:
    """A request that somebody deletes ends the wait with an ApiError of status 404; a server that is away does not."""
    pause_s = FIRST_S
    while True:
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_S)
        try:
            body = await api.get(path)
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise
            continue
        if (issued := answered(body, key)) is not None:
            return issued


def answered(body: Mapping[str, Any], key: str) -> Issued | None:
    """What its signer said; None while it is silent. Raises RefusedError for Denied and Failed."""
    status = body.get("status") or {}
    for condition in status.get("conditions") or ():
        reason, message = condition.get("reason") or "", condition.get("message") or ""
        if (kind := condition.get("type")) in ("Denied", "Failed"):
            words = f'PodCertificateRequest was permanently {kind.lower()}: reason="{reason}" message="{message}"'
            raise RefusedError(f"PodCertificateRequest {body['metadata']['name']}", words)
        if kind == "Issued":
            chain = clean(str(status.get("certificateChain") or ""))
            return Issued(key, chain, _seconds(status["beginRefreshAt"]), _seconds(status["notAfter"]))
    return None


def clean(chain: str) -> str:
    """The certificates alone, without headers and words between them."""
    texts = ("".join(found.split()) for found in _BLOCK.findall(chain))
    return "".join(_block(text) for text in texts)


def _block(text: str) -> str:
    lines = "\n".join(text[at : at + _LINE] for at in range(0, len(text), _LINE))
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()
