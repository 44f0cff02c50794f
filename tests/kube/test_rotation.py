"""Client certificates: when they are renewed, how they are kept, what a cluster's answers mean."""

import base64
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from tests.kit.certificates import Authority

from podherd.kube import certificate_files as files
from podherd.kube.config import Access, Pem, Server, User
from podherd.kube.csr import RefusedError, name_of, request_pem, signed
from podherd.kube.kubeconfig import load
from podherd.kube.rotation import deadline, run_rotation
from podherd.model.settings import Settings

NOW = datetime(2026, 12, 7, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(("jitter", "hours"), [(0.0, 70), (0.5, 80), (1.0, 90)])
def test_renewal_is_due_in_the_last_third(jitter: float, hours: int) -> None:
    assert deadline(NOW, NOW + timedelta(hours=100), jitter) == NOW + timedelta(hours=hours)


def test_a_request_names_the_node_as_the_authorizer_knows_it() -> None:
    request = x509.load_pem_x509_csr(request_pem("a", ec.generate_private_key(ec.SECP256R1())))
    assert request.subject.rfc4514_string() == "CN=system:node:a,O=system:nodes"
    assert request.is_signature_valid


def test_the_same_key_makes_the_same_request(tmp_path: Path) -> None:
    key = files.pending_key(tmp_path / "pki")
    assert name_of("a", key) == name_of("a", files.pending_key(tmp_path / "pki"))
    assert name_of("a", key) != name_of("b", key)
    files.forget_pending(tmp_path / "pki")
    assert name_of("a", key) != name_of("a", files.pending_key(tmp_path / "pki"))
    (tmp_path / "pki" / files.PENDING_KEY).write_text("damaged")
    files.pending_key(tmp_path / "pki")


def test_a_pair_is_its_owners_alone_and_the_link_points_to_the_newest(tmp_path: Path) -> None:
    pki = tmp_path / "pki"
    files.write_pair(pki, b"C1\n", b"K1\n", NOW)
    newest = files.write_pair(pki, b"C2\n", b"K2\n", NOW + timedelta(seconds=1))
    current = pki / "kubelet-client-current.pem"
    assert newest.name == "kubelet-client-2026-12-07-10-00-01.pem"
    assert current.resolve() == newest.resolve()
    assert current.read_bytes() == b"C2\nK2\n"
    assert stat.S_IMODE(current.stat().st_mode) == 0o600
    assert sorted(one.name for one in pki.iterdir()) == [
        "kubelet-client-2026-12-07-10-00-00.pem",
        "kubelet-client-2026-12-07-10-00-01.pem",
        "kubelet-client-current.pem",
    ]


def test_the_kubeconfig_has_the_server_of_the_first_one_and_the_user_of_the_directory(tmp_path: Path) -> None:
    server = Server("https://a:1", Pem(b"PEM"), "kubernetes", "http://p:1", compress=False)
    file = tmp_path / "etc" / "kubeconfig"
    files.write_kubeconfig(file, Access("first", server, User(token="secret")), tmp_path / "pki")
    current = Pem(path=tmp_path / "pki/kubelet-client-current.pem")
    assert load(file) == Access(f"kubeconfig {file}", server, User(current, current))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"secret" not in file.read_bytes()


def test_what_the_answers_mean() -> None:
    assert signed("n", {}) is None
    assert signed("n", {"status": {"conditions": [{"type": "Approved"}]}}) is None
    assert signed("n", {"status": {"certificate": base64.b64encode(b"PEM").decode()}}) == b"PEM"
    for kind in ("Denied", "Failed"):
        with pytest.raises(RefusedError, match=f"{kind}: because"):
            signed("n", {"status": {"conditions": [{"type": kind, "message": "because"}]}})


async def test_without_rotation_a_certificate_that_holds_is_left_alone(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).client("node", "system:node:a")
    access = Access("first", Server("https://127.0.0.1:1"), User())
    files.write_pair(tmp_path / "pki", certificate.read_bytes(), key.read_bytes(), NOW)
    file, before = tmp_path / "kubeconfig", sorted(one.name for one in (tmp_path / "pki").iterdir())
    files.write_kubeconfig(file, access, tmp_path / "pki")
    told: list[str] = []
    settings = Settings("a", tmp_path, "", kubeconfig=file, bootstrap_kubeconfig=tmp_path / "none")
    await run_rotation(settings, told.append)
    assert told == []
    assert sorted(one.name for one in (tmp_path / "pki").iterdir()) == before
