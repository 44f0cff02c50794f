"""A certificate authority for tests, on disk: servers and users of a control plane that lives for minutes."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFE = timedelta(days=1)
EARLIER = timedelta(minutes=5)
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
BOTH = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


class Authority:
    """`ca.crt` and `ca.key` in a directory, where it puts what it signs as `<stem>.crt` and `<stem>.key`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.certificate = home / "ca.crt"
        self.key = home / "ca.key"
        self._key = new_key(self.key)
        self._name = _name("podherd-test-ca")
        builder = _builder(self._name, self._name, self._key.public_key())
        everything = x509.BasicConstraints(ca=True, path_length=None)
        self._sign(builder.add_extension(everything, critical=True), self.certificate)

    def client(self, stem: str, user: str, groups: Sequence[str] = (), life: timedelta = LIFE) -> tuple[Path, Path]:
        """Certificate and key of a user in groups, as Kubernetes reads them: CN and each O. life: from now."""
        return self._issue(stem, _name(user, groups), (), life)

    def server(self, stem: str, addresses: Sequence[str]) -> tuple[Path, Path]:
        """Certificate and key for these IP addresses, beside the names that a cluster gives its API server."""
        return self._issue(stem, _name(stem), addresses, LIFE)

    def _issue(self, stem: str, name: x509.Name, addresses: Sequence[str], life: timedelta) -> tuple[Path, Path]:
        key_file, file = self.home / f"{stem}.key", self.home / f"{stem}.crt"
        builder = _builder(name, self._name, new_key(key_file).public_key(), life)
        builder = builder.add_extension(x509.ExtendedKeyUsage(BOTH), critical=False)
        if addresses:
            names = [x509.IPAddress(ip_address(one)) for one in addresses]
            every = x509.SubjectAlternativeName([*names, *map(x509.DNSName, SERVER_NAMES)])
            builder = builder.add_extension(every, critical=False)
        self._sign(builder, file)
        return file, key_file

    def _sign(self, builder: x509.CertificateBuilder, file: Path) -> None:
        file.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))


def signing_request(key_file: Path, user: str, groups: Sequence[str] = ()) -> bytes:
    """A PEM request for a client certificate with a new key, which is written to `key_file`."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(_name(user, groups))
    return builder.sign(new_key(key_file), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def new_key(file: Path) -> ec.EllipticCurvePrivateKey:
    """A P-256 key, written as PEM for its owner alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    form = serialization.PrivateFormat.TraditionalOpenSSL
    file.touch(0o600)
    file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return key


def _name(common: str, organizations: Sequence[str] = ()) -> x509.Name:
    groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    name: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, life: timedelta = LIFE
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(issuer).public_key(key)
    return (
        builder.serial_number(x509.random_serial_number()).not_valid_before(now - EARLIER).not_valid_after(now + life)
    )
