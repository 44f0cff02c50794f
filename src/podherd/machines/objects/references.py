"""Which API objects a pod refers to (kubelet behaviour, sections 2.4, 3.6, 3.12 and 13.3)."""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from podherd.machines.objects.found import Lookup
from podherd.model.pod import Body, Container, Pod
from podherd.wire.objects import Ref

MASTER_NAMESPACE = "default"
"""Its service `kubernetes` is told to every container."""
TOKEN_LIFE_S = 3600
"""Of a token whose expirationSeconds is not given."""
CSI_PLUGIN = "kubernetes.io/csi"
_CSI_SECRETS = ("nodeStageSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")


def references(pod: Pod) -> tuple[Ref, ...]:
    """Every Ref of the pod's spec, each once, in a steady order; none of a pod that no API server has."""
    if pod.source != "api":
        return ()
    found = [
        *(ref for container in pod.every_container for ref in _of_environment(pod, container)),
        *(ref for volume in pod.body["spec"].get("volumes") or () for ref in _of_volume(pod, volume)),
        *pull_secrets(pod),
        *services(pod),
    ]
    if name := pod.body["spec"].get("runtimeClassName"):
        found.append(runtime_class(name))
    return tuple(dict.fromkeys(found))


def config_map(pod: Pod, name: str) -> Ref:
    """A ConfigMap of the pod's namespace."""
    return Ref("ConfigMap", pod.namespace, name)


def secret(pod: Pod, name: str) -> Ref:
    """A Secret of the pod's namespace."""
    return Ref("Secret", pod.namespace, name)


def runtime_class(name: str) -> Ref:
    """A RuntimeClass."""
    return Ref("RuntimeClass", "", name)


def csi_driver(name: str) -> Ref:
    """A CSIDriver."""
    return Ref("CSIDriver", "", name)


def attachment(driver: str, handle: str, node: str) -> Ref:
    """The VolumeAttachment that the attach-detach controller makes for a CSI volume and a node."""
    digest = sha256(f"{handle}{driver}{node}".encode()).hexdigest()
    return Ref("VolumeAttachment", "", f"csi-{digest}")


def claim(pod: Pod, name: str) -> Ref:
    """A PersistentVolumeClaim of the pod's namespace."""
    return Ref("PersistentVolumeClaim", pod.namespace, name)


def ephemeral_claim(pod: Pod, volume: str) -> Ref:
    """The claim that is made for an `ephemeral` volume (KEP-1698)."""
    return claim(pod, f"{pod.name}-{volume}")


def token(pod: Pod, source: Body) -> Ref:
    """The token of a v1.ServiceAccountTokenProjection or storage v1.TokenRequest, bound to this pod."""
    detail = {
        "audience": source.get("audience") or "",
        "expirationSeconds": source.get("expirationSeconds") or TOKEN_LIFE_S,
        "pod": {"name": pod.name, "uid": pod.uid},
    }
    account = pod.body["spec"].get("serviceAccountName") or "default"
    return Ref("ServiceAccountToken", pod.namespace, account, _plain(detail))


def account(pod: Pod) -> Ref:
    """The pod's service account."""
    return Ref("ServiceAccount", pod.namespace, pod.body["spec"].get("serviceAccountName") or "default")


def certificate(pod: Pod, volume: str, index: int, source: Body) -> Ref:
    """The key and certificate of a v1.PodCertificateProjection, which no other projection shares (KEP-4317).

    volume, index: of which volume, and which of its sources, it is.
    """
    spec = pod.body["spec"]
    detail = {
        "pod": {"name": pod.name, "uid": pod.uid},
        "signerName": source.get("signerName") or "",
        "keyType": source.get("keyType") or "",
        "maxExpirationSeconds": source.get("maxExpirationSeconds"),
        "userAnnotations": source.get("userAnnotations"),
        "of": f"{volume}/{index}",
    }
    return Ref("PodCertificate", pod.namespace, spec.get("serviceAccountName") or "default", _plain(detail))


def trust_bundle(source: Body) -> Ref:
    """The bundle of a v1.ClusterTrustBundleProjection: one by name, or all of a signer that its labels choose."""
    if name := source.get("name"):
        return Ref("ClusterTrustBundle", "", name)
    detail = {"signerName": source.get("signerName") or "", "labelSelector": source.get("labelSelector")}
    return Ref("ClusterTrustBundle", "", "", _plain(detail))


def selects_bundles(source: Body) -> bool:
    """Whether it can mean any bundle: without a name, no labelSelector is one that selects nothing."""
    return bool(source.get("name")) or source.get("labelSelector") is not None


def pull_secrets(pod: Pod) -> tuple[Ref, ...]:
    """The Secrets of imagePullSecrets, in their order."""
    wanted = pod.body["spec"].get("imagePullSecrets") or ()
    return tuple(secret(pod, each["name"]) for each in wanted if each.get("name"))


def services(pod: Pod) -> tuple[Ref, ...]:
    """The namespaces whose services a container is told of: its own unless enableServiceLinks is off, and `default`."""
    own = (pod.namespace,) if has_links(pod) else ()
    return tuple(Ref("Services", namespace, "") for namespace in dict.fromkeys((*own, MASTER_NAMESPACE)))


def has_links(pod: Pod) -> bool:
    """Whether its containers are told of all services of its namespace (`enableServiceLinks`, true by default)."""
    links = pod.body["spec"].get("enableServiceLinks")
    return links is None or bool(links)


def follow_on(pod: Pod, ref: Ref, body: Mapping[str, Any]) -> tuple[Ref, ...]:
    """What is needed too, once `ref` is known: a claim's volume, the volume's CSI driver and secrets, its tokens."""
    spec = body.get("spec") or {}
    if ref.kind == "PersistentVolumeClaim":
        name = spec.get("volumeName")
        return (Ref("PersistentVolume", "", name),) if name else ()
    if ref.kind == "PersistentVolume" and (csi := spec.get("csi")):
        secrets = (csi[field] for field in _CSI_SECRETS if csi.get(field))
        named = (Ref("Secret", each.get("namespace") or "", each.get("name") or "") for each in secrets)
        return (csi_driver(csi.get("driver") or ""), *named)
    if ref.kind == "CSIDriver":
        return tuple(token(pod, request) for request in spec.get("tokenRequests") or ())
    return ()


def attached_as(driver: str, handle: str) -> str:
    """A CSI volume's name in the node's status, volumesInUse and volumesAttached."""
    return f"{CSI_PLUGIN}/{driver}^{handle}"


class Attachable(NamedTuple):
    """A CSI volume whose driver has its volumes attached first."""

    driver: str
    handle: str

    @property
    def name(self) -> str:
        """In the node's status."""
        return attached_as(self.driver, self.handle)


def attachables(refs: Iterable[Ref], look: Lookup) -> Iterator[Attachable]:
    """Those among the volumes of the refs. A driver without a CSIDriver object has its volumes attached first; of one
    that nothing was told of yet nothing is known.
    """
    for ref in refs:
        csi = (look(ref).mapping.get("spec") or {}).get("csi") if ref.kind == "PersistentVolume" else None
        if not csi:
            continue
        driver = csi.get("driver") or ""
        found = look(csi_driver(driver))
        required = (found.mapping.get("spec") or {}).get("attachRequired")
        if required or (required is None and (found.missing or found.body is not None)):
            yield Attachable(driver, csi.get("volumeHandle") or "")


def _plain(detail: Mapping[str, Any]) -> str:
    return json.dumps(detail, sort_keys=True, separators=(",", ":"))


def _of_environment(pod: Pod, container: Container) -> Iterator[Ref]:
    for source in container.body.get("envFrom") or ():
        if each := source.get("configMapRef"):
            yield config_map(pod, each.get("name") or "")
        if each := source.get("secretRef"):
            yield secret(pod, each.get("name") or "")
    for entry in container.body.get("env") or ():
        source = entry.get("valueFrom") or {}
        if each := source.get("configMapKeyRef"):
            yield config_map(pod, each.get("name") or "")
        if each := source.get("secretKeyRef"):
            yield secret(pod, each.get("name") or "")


def _of_volume(pod: Pod, volume: Body) -> Iterator[Ref]:
    if source := volume.get("configMap"):
        yield config_map(pod, source.get("name") or "")
    if source := volume.get("secret"):
        yield secret(pod, source.get("secretName") or "")
    for index, part in enumerate((volume.get("projected") or {}).get("sources") or ()):
        yield from _of_projection(pod, part)
        if source := part.get("podCertificate"):
            yield certificate(pod, volume["name"], index, source)
    if source := volume.get("persistentVolumeClaim"):
        yield claim(pod, source.get("claimName") or "")
    if volume.get("ephemeral"):
        yield ephemeral_claim(pod, volume["name"])
    if source := volume.get("csi"):
        yield csi_driver(source.get("driver") or "")
        if each := source.get("nodePublishSecretRef"):
            yield secret(pod, each.get("name") or "")


def _of_projection(pod: Pod, part: Body) -> Iterator[Ref]:
    if source := part.get("configMap"):
        yield config_map(pod, source.get("name") or "")
    if source := part.get("secret"):
        yield secret(pod, source.get("name") or "")
    if source := part.get("serviceAccountToken"):
        yield token(pod, source)
    if (source := part.get("clusterTrustBundle")) and selects_bundles(source):
        yield trust_bundle(source)
