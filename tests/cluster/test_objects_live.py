"""What pods refer to, while they run: objects that change or come late, private images, certificates."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.kit.cluster_node import ClusterNode
from tests.kit.namespace import Namespace
from tests.kit.registry import Registry, registry
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX

SOON_S = 20
pytestmark = pytest.mark.timeout(200)


def pod(name: str, node: ClusterNode, container: dict[str, Any], **spec: Any) -> str:
    """A pod on the node, of one container that waits unless it has a command."""
    waits = {"name": "c", "image": BUSYBOX, "command": ["sh", "-c", "trap exit TERM; while :; do sleep 0.1; done"]}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "nodeName": node.name,
                "restartPolicy": "Never",
                "dnsPolicy": "Default",
                "terminationGracePeriodSeconds": 1,
                "containers": [{**waits, **container}],
                **spec,
            },
        }
    )


def waiting(namespace: Namespace, name: str) -> dict[str, Any]:
    """Why its container waits; empty when it does not."""
    (told,) = namespace.get("pod", name)["status"].get("containerStatuses") or ({},)
    found: dict[str, Any] = (told.get("state") or {}).get("waiting") or {}
    return found


def is_ready(namespace: Namespace, name: str) -> None:
    """Return once it is. Raises KubectlError when that takes long."""
    namespace.kubectl("wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={SOON_S}s")


def test_a_running_pod_sees_its_config_map_and_its_secret_change(namespace: Namespace, node: ClusterNode) -> None:
    for kind in ("configmap", "secret generic"):
        namespace.kubectl("create", *kind.split(), "words", "--from-literal=word=one")
    volumes = [
        {"name": "map", "configMap": {"name": "words"}},
        {"name": "key", "projected": {"sources": [{"secret": {"name": "words"}}]}},
        {"name": "later", "configMap": {"name": "later", "optional": True}},
    ]
    mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes]
    script = 'until [ "$(cat /map/word /key/word /later/word)" = "twotwothree" ]; do sleep 0.05; done'
    container = {"command": ["sh", "-c", script], "volumeMounts": mounts}
    namespace.apply(pod("sees", node, container, volumes=volumes))
    is_ready(namespace, "sees")
    namespace.kubectl("patch", "configmap", "words", "-p", '{"data":{"word":"two"}}')
    namespace.kubectl("patch", "secret", "words", "-p", '{"stringData":{"word":"two"}}')
    namespace.kubectl("create", "configmap", "later", "--from-literal=word=three")
    namespace.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/sees", f"--timeout={SOON_S}s")


async def test_pods_that_wait_for_a_secret_start_when_it_comes(namespace: Namespace, node: ClusterNode) -> None:
    variable = {"name": "V", "valueFrom": {"secretKeyRef": {"name": "late", "key": "word"}}}
    namespace.apply(pod("by-env", node, {"env": [variable]}))
    volumes = [{"name": "v", "secret": {"secretName": "late"}}]
    namespace.apply(pod("by-file", node, {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, volumes=volumes))
    await until(lambda: waiting(namespace, "by-env").get("reason") == "CreateContainerConfigError")
    assert waiting(namespace, "by-env")["message"] == 'secret "late" not found'
    await until(lambda: waiting(namespace, "by-file").get("reason") == "ContainerCreating")
    namespace.kubectl("create", "secret", "generic", "late", "--from-literal=word=one")
    for name in ("by-env", "by-file"):
        is_ready(namespace, name)


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Registry]:
    with registry(tmp_path, "me", "right") as running:
        yield running


async def test_a_private_image_is_for_pods_that_can_show_its_password(
    namespace: Namespace, node: ClusterNode, private: Registry
) -> None:
    for name, password in (("right", "right"), ("wrong", "wrong")):
        data = {".dockerconfigjson": private.docker_config("me", password)}
        made = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}
        namespace.apply(json.dumps({**made, "type": "kubernetes.io/dockerconfigjson"}))
    image = {"image": f"{private.host}/team/app:1", "imagePullPolicy": "IfNotPresent"}
    namespace.apply(pod("wrong", node, image, imagePullSecrets=[{"name": "wrong"}]))
    await until(lambda: "401 Unauthorized" in json.dumps(waiting(namespace, "wrong")), SOON_S)
    assert "ErrImagePull" in json.dumps(waiting(namespace, "wrong"))
    namespace.apply(pod("right", node, image, imagePullSecrets=[{"name": "right"}]))
    is_ready(namespace, "right")
    pulled = len(private.asked)
    namespace.apply(pod("again", node, image, imagePullSecrets=[{"name": "right"}]))
    is_ready(namespace, "again")
    assert len(private.asked) == pulled
    namespace.apply(pod("none", node, image))
    namespace.apply(pod("never", node, {**image, "imagePullPolicy": "Never"}))
    await until(lambda: "401 Unauthorized" in json.dumps(waiting(namespace, "none")), SOON_S)
    await until(lambda: waiting(namespace, "never").get("reason") == "ErrImageNeverPull", SOON_S)
    (file,) = (node.root / "agent" / "image_manager" / "pulled").iterdir()
    assert namespace.name in file.read_text()


SIGNER = "signer.test/pods"
HOUR = timedelta(hours=1)


def signed(request: dict[str, Any]) -> dict[str, Any]:
    """The status that a signer gives a PodCertificateRequest."""
    subject = x509.load_der_x509_csr(base64.b64decode(request["spec"]["stubPKCS10Request"])).public_key()
    assert isinstance(subject, ec.EllipticCurvePublicKey)
    began = datetime.now(UTC).replace(microsecond=0)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, request["spec"]["podName"])])
    builder = x509.CertificateBuilder(name, name, subject, x509.random_serial_number(), began, began + 2 * HOUR)
    chain = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    condition = {"type": "Issued", "status": "True", "reason": "Signed", "message": "", "lastTransitionTime": at(began)}
    return {
        "conditions": [condition],
        "certificateChain": chain.public_bytes(serialization.Encoding.PEM).decode(),
        "notBefore": at(began),
        "beginRefreshAt": at(began + HOUR),
        "notAfter": at(began + 2 * HOUR),
    }


def at(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def root_certificate() -> str:
    """A certificate authority's, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "root")])
    began = datetime.now(UTC) - HOUR
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, began, began + 24 * HOUR)
    authority = builder.add_extension(x509.BasicConstraints(True, None), critical=True).sign(key, hashes.SHA256())
    return authority.public_bytes(serialization.Encoding.PEM).decode()


@pytest.fixture
def bundle(namespace: Namespace) -> Iterator[str]:
    """The name of a ClusterTrustBundle of the signer."""
    name = f"{SIGNER.replace('/', ':')}:{namespace.name}"
    spec = {"signerName": SIGNER, "trustBundle": root_certificate()}
    metadata = {"name": name, "labels": {"of": namespace.name}}
    made = {"apiVersion": "certificates.k8s.io/v1", "kind": "ClusterTrustBundle", "metadata": metadata, "spec": spec}
    namespace.cluster.apply(json.dumps(made))
    yield name
    namespace.cluster.kubectl("delete", "clustertrustbundle", name)


async def test_a_pod_gets_its_own_certificate_and_the_roots_to_trust(
    namespace: Namespace, node: ClusterNode, bundle: str
) -> None:
    sources = [
        {"podCertificate": {"signerName": SIGNER, "keyType": "ECDSAP256", "credentialBundlePath": "own.pem"}},
        {"clusterTrustBundle": {"name": bundle, "path": "named.pem"}},
        {
            "clusterTrustBundle": {
                "signerName": SIGNER,
                "labelSelector": {"matchLabels": {"of": namespace.name}},
                "path": "chosen.pem",
            }
        },
    ]
    script = "grep -h BEGIN /v/own.pem /v/named.pem /v/chosen.pem > /dev/termination-log"
    container = {"command": ["sh", "-c", script], "volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    namespace.apply(pod("certified", node, container, volumes=[{"name": "v", "projected": {"sources": sources}}]))
    await until(lambda: namespace.get("podcertificaterequests")["items"], SOON_S)
    (request,) = namespace.get("podcertificaterequests")["items"]
    assert request["spec"]["podName"] == "certified"
    patch = json.dumps({"status": signed(request)})
    name = request["metadata"]["name"]
    namespace.kubectl("patch", "podcertificaterequest", name, "--subresource=status", "--type=merge", "-p", patch)
    namespace.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/certified", f"--timeout={SOON_S}s")
    (told,) = namespace.get("pod", "certified")["status"]["containerStatuses"]
    certificate = "-----BEGIN CERTIFICATE-----"
    assert told["state"]["terminated"]["message"].split("\n")[:-1] == [
        "-----BEGIN PRIVATE KEY-----", certificate, certificate, certificate,
    ]  # fmt: skip
