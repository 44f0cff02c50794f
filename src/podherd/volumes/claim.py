"""A PersistentVolumeClaim followed to its PersistentVolume (kubelet behaviour, section 13.7).

`persistentVolumeClaim` names the claim; the claim of an `ephemeral` volume is `<pod>-<volume>` and must be the pod's
own (KEP-1698). The texts are the kubelet's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from podherd.machines.admission.selectors import matches_node
from podherd.machines.objects import references
from podherd.machines.objects.found import Lookup
from podherd.model.pod import Body, Pod
from podherd.volumes.errors import VolumeError
from podherd.wire.objects import Ref

KINDS = ("persistentVolumeClaim", "ephemeral")
"""Fields of v1.Volume that lead to a claim."""
_PROTECTION = "kubernetes.io/pvc-protection"


@dataclass(frozen=True, slots=True)
class Bound:
    """The volume behind a claim. read_only: as the pod asks for it."""

    volume: str
    """Its name in the pod."""
    pv: Mapping[str, Any]
    read_only: bool

    @property
    def name(self) -> str:
        """Of the PersistentVolume."""
        return str(self.pv["metadata"]["name"])

    @property
    def spec(self) -> Mapping[str, Any]:
        """v1.PersistentVolumeSpec."""
        spec: Mapping[str, Any] = self.pv["spec"]
        return spec


def bound(pod: Pod, volume: Body, look: Lookup) -> Bound:
    """What the volume's claim is bound to. Raises VolumeError as long as it is to none, and for one that is no use."""
    if source := volume.get("persistentVolumeClaim"):
        ref, read_only = references.claim(pod, source.get("claimName") or ""), bool(source.get("readOnly"))
    else:
        ref, read_only = references.ephemeral_claim(pod, volume["name"]), False
    claim = _claim(ref, look)
    if volume.get("ephemeral") is not None:
        _check_owner(pod, ref, claim)
    found = Bound(volume["name"], _volume_of(ref, claim, look), read_only)
    if (mode := found.spec.get("volumeMode") or "Filesystem") != "Filesystem":
        text = f"volume {found.volume} has volumeMode {mode}, but is specified in volumeMounts"
        raise VolumeError(f'volume "{found.volume}"', text, "use a claim with volumeMode Filesystem", text)
    return found


def check_node(found: Bound, labels: Mapping[str, str], node: str) -> None:
    """Raises VolumeError when the volume's nodeAffinity says that it cannot be had on this node."""
    required = (found.spec.get("nodeAffinity") or {}).get("required")
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    if required and not matches_node({"affinity": affinity}, node, labels):
        raise VolumeError(
            f'volume "{found.name}"', "cannot be had on this node: no matching NodeSelectorTerms",
            said=f'MountVolume.NodeAffinity check failed for volume "{found.name}" : no matching NodeSelectorTerms',
        )  # fmt: skip


def _refused(ref: Ref, why: str, missing: bool = False) -> VolumeError:
    text = f"error processing PVC {ref.namespace}/{ref.name}: {why}"
    mend = "create the claim" if missing else ""
    return VolumeError(f"claim {ref.namespace}/{ref.name}", why, mend, text, said=text)


def _claim(ref: Ref, look: Lookup) -> Mapping[str, Any]:
    found = look(ref)
    if found.body is None:
        raise _refused(ref, f"failed to fetch PVC from API server: {found.problem}", found.missing)
    metadata = found.mapping.get("metadata") or {}
    if metadata.get("deletionTimestamp") and _PROTECTION not in (metadata.get("finalizers") or ()):
        raise _refused(ref, "PVC is being deleted")
    if (found.mapping.get("status") or {}).get("phase") != "Bound":
        raise _refused(ref, "PVC is not bound")
    if not (found.mapping.get("spec") or {}).get("volumeName"):
        raise _refused(ref, "PVC has empty pvc.Spec.VolumeName")
    return found.mapping


def _check_owner(pod: Pod, ref: Ref, claim: Mapping[str, Any]) -> None:
    owners = claim["metadata"].get("ownerReferences") or ()
    if not any(owner.get("uid") == pod.uid and owner.get("controller") for owner in owners):
        text = f"PVC {ref.namespace}/{ref.name} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"
        mend = "delete the claim that stands in the way"
        raise VolumeError(f"claim {ref.namespace}/{ref.name}", "is not the pod's own", mend, text, said=text)


def _volume_of(ref: Ref, claim: Mapping[str, Any], look: Lookup) -> Mapping[str, Any]:
    name = claim["spec"]["volumeName"]
    found = look(Ref("PersistentVolume", "", name))
    if found.body is None:
        raise _refused(ref, f"failed to fetch PV {name} from API server: {found.problem}")
    holder = (found.mapping.get("spec") or {}).get("claimRef")
    if not holder:
        why = f"found PV object {name} but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim"
        raise _refused(ref, why)
    uid = claim["metadata"].get("uid")
    if holder.get("uid") != uid:
        why = (
            f"found PV object {name} but its pv.Spec.ClaimRef.UID {holder.get('uid')} does not point to claim.UID {uid}"
        )
        raise _refused(ref, why)
    return found.mapping
