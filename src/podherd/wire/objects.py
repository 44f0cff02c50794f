"""API objects that pods refer to: shards say what they need, the objects actor follows it and tells every change."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ref:
    """An object, or something that can be had for a name.

    kind: `ConfigMap`, `Secret`, `Services` (all of a namespace; name empty), `RuntimeClass`, `PersistentVolumeClaim`,
    `PersistentVolume`, `CSIDriver`, `VolumeAttachment`, `ClusterTrustBundle`, `ServiceAccount`, or
    `ServiceAccountToken` and `PodCertificate` (name: the service account).
    namespace: empty for what has none. detail: JSON of what a name does not say (a token's audience,
    expirationSeconds and pod; a certificate's signer, kind of key and pod; a trust bundle's signerName and
    labelSelector), else empty.
    """

    kind: str
    namespace: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Needs:
    """All that the pod needs now; replaces what it needed before. Empty: the pod is gone."""

    uid: str
    refs: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class ObjectState:
    """What is known of a Ref; told once when it is known, and at each change.

    body: msgpack of the object (ConfigMap, Secret… whole; Services: a list of v1.Service; a token: v1 TokenRequest
    status; a certificate: `key` and `chain` as PEM); empty when there is none. problem: why it could not be had
    (`configmap "x" not found`); empty with a body.
    missing: the API server said that there is no such object; False for any other problem, which may pass.
    """

    ref: tuple[Ref, ...]
    """Exactly one."""
    body: bytes
    problem: str = ""
    missing: bool = False

    @property
    def of(self) -> Ref:
        """What it is about."""
        return self.ref[0]
