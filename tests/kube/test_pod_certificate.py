"""A pod's key and certificate: what is asked for, and what its signer may answer."""

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from tests.kit.virtual_loop import run_virtually

from podherd.errors import ApiError
from podherd.kube.csr import RefusedError
from podherd.kube.door import Api, Body, Query
from podherd.kube.pod_certificate import answered, clean, issue
from podherd.kube.served import version_of

POD = {"name": "web", "uid": "u1"}
WANTED = {
    "pod": POD,
    "signerName": "x.test/y",
    "keyType": "ECDSAP256",
    "maxExpirationSeconds": 3600,
    "userAnnotations": {"x.test/a": "b"},
}
PATH = "/apis/certificates.k8s.io/v1/namespaces/shop/podcertificaterequests"
TIMES = {"beginRefreshAt": "2100-01-01T00:00:00Z", "notAfter": "2100-01-01T01:00:00Z"}
CHAIN = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


class Signer(Api):
    """Gives out the answers to GETs of the request one after another, the last one for ever."""

    def __init__(self, *answers: dict[str, Any] | ApiError) -> None:
        self._answers = list(answers)
        self.asked = 0
        self.made: Body = {}

    async def get(self, path: str, _query: Query | None = None) -> dict[str, Any]:
        if not path.startswith(PATH):
            return {"metadata": {"uid": f"uid of {path.rpartition('/')[2]}"}}
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, ApiError):
            raise answer
        return {"metadata": {"name": "req-1"}, "status": answer}

    async def create(self, path: str, body: Body, _query: Query | None = None) -> dict[str, Any]:
        assert path == PATH
        self.made = body
        return {"metadata": {"name": "req-1"}}


def condition(kind: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "reason": "Because", "message": "so"}]}


def given() -> dict[str, Any]:
    return {**condition("Issued"), **TIMES, "certificateChain": CHAIN}


def ask(signer: Signer, **more: Any) -> Any:
    return run_virtually(issue(signer, "shop", "robot", {**WANTED, **more}, "n1"))


def test_it_asks_for_the_pod_its_account_and_its_node_and_waits() -> None:
    signer = Signer({}, ApiError("GET", 403, "Forbidden", "not yet"), ApiError("GET", 0, "", "away"), given())
    issued = ask(signer)
    spec = dict(signer.made["spec"])
    request = x509.load_der_x509_csr(base64.b64decode(spec.pop("stubPKCS10Request")))
    assert spec == {
        "signerName": "x.test/y", "podName": "web", "podUID": "u1", "serviceAccountName": "robot",
        "serviceAccountUID": "uid of robot", "nodeName": "n1", "nodeUID": "uid of n1", "maxExpirationSeconds": 3600,
        "unverifiedUserAnnotations": {"x.test/a": "b"},
    }  # fmt: skip
    (owner,) = signer.made["metadata"]["ownerReferences"]
    assert owner == {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u1"}
    assert (issued.chain, issued.expires_at - issued.refresh_at, signer.asked) == (CHAIN, 3600.0, 4)
    key = serialization.load_pem_private_key(issued.key.encode(), None)
    assert request.is_signature_valid
    assert request.public_key() == key.public_key()
    assert issued.key.startswith("-----BEGIN PRIVATE KEY-----\n")
    assert "PRIVATE" not in repr(issued)


@pytest.mark.parametrize("kind", ["RSA3072", "RSA4096", "ECDSAP384", "ECDSAP521", "ED25519"])
def test_every_kind_of_key_proves_itself(kind: str) -> None:
    signer = Signer(given())
    ask(signer, keyType=kind, maxExpirationSeconds=None, userAnnotations=None)
    assert x509.load_der_x509_csr(base64.b64decode(signer.made["spec"]["stubPKCS10Request"])).is_signature_valid
    assert signer.made["spec"].keys() & {"maxExpirationSeconds", "unverifiedUserAnnotations"} == set()


def test_an_unknown_kind_of_key_is_refused_by_its_name() -> None:
    with pytest.raises(RefusedError, match='unknown key type "DSA"'):
        ask(Signer(given()), keyType="DSA")


@pytest.mark.parametrize("kind", ["Denied", "Failed"])
def test_a_signer_that_will_not_is_told_in_the_kubelets_words(kind: str) -> None:
    words = f'PodCertificateRequest was permanently {kind.lower()}: reason="Because" message="so"'
    with pytest.raises(RefusedError) as error:
        ask(Signer({}, condition(kind)))
    assert error.value.reason == words


def test_a_request_that_somebody_deletes_is_an_error_of_the_api() -> None:
    with pytest.raises(ApiError, match="gone"):
        ask(Signer({}, ApiError("GET", 404, "NotFound", "gone")))


def test_a_condition_of_another_kind_is_no_answer() -> None:
    assert answered({"metadata": {"name": "r"}, "status": condition("Seen")}, "k") is None


def test_a_chain_is_cleaned_of_all_but_its_certificates() -> None:
    long = "A" * 65
    dirty = (
        f"subject=/CN=x\n-----BEGIN TRUSTED CERTIFICATE-----\r\n{long}\r\n-----END TRUSTED CERTIFICATE-----\n{CHAIN}"
    )
    assert clean(dirty) == f"{CHAIN.replace('AAAA', 'A' * 64 + chr(10) + 'A')}{CHAIN}"


class Group(Api):
    """Serves what `served` says by version."""

    def __init__(self, **served: tuple[str, ...]) -> None:
        self._served = served

    async def get(self, path: str, _query: Query | None = None) -> dict[str, Any]:
        version = path.removeprefix("/apis/x.test/")
        if version not in self._served:
            raise ApiError(f"GET {path}", 404 if self._served else 503, "", "no such version")
        return {"kind": "APIResourceList", "resources": [{"name": name} for name in self._served[version]]}


@pytest.mark.parametrize(
    ("group", "found"),
    [
        (Group(v1=("things", "others"), v1beta1=("things",)), "v1"),
        (Group(v1=("others",), v1beta1=("things", "things/status")), "v1beta1"),
        (Group(v1beta1=("things",)), "v1beta1"),
        (Group(v1=("others",)), None),
    ],
)
async def test_the_newest_version_that_has_the_kind_is_taken(group: Group, found: str | None) -> None:
    assert await version_of(group, "x.test", "things", ("v1", "v1beta1")) == found


async def test_a_server_that_cannot_be_asked_for_its_versions_is_an_error() -> None:
    with pytest.raises(ApiError):
        await version_of(Group(), "x.test", "things", ("v1",))
