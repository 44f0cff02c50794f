"""From a claim to its volume: what a pod has to wait for, in the kubelet's words."""

from typing import Any

import pytest
from tests.kit.volumes import make_pod

from podherd.machines.objects.found import Found, Lookup
from podherd.model.pod import Pod
from podherd.volumes.claim import bound, check_node
from podherd.volumes.errors import VolumeError
from podherd.wire.objects import Ref

BY_CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}}
EPHEMERAL = {"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
CLAIM: dict[str, Any] = {
    "metadata": {"name": "c", "uid": "cu"},
    "spec": {"volumeName": "pv"},
    "status": {"phase": "Bound"},
}
VOLUME: dict[str, Any] = {"metadata": {"name": "pv"}, "spec": {"claimRef": {"uid": "cu"}, "local": {"path": "/disk"}}}


def looking(claim: Any = None, volume: Any = None, name: str = "c") -> Lookup:
    def look(ref: Ref) -> Found:
        known = {
            Ref("PersistentVolumeClaim", "d", name): claim,
            Ref("PersistentVolume", "", "pv"): volume,
        }
        if (body := known.get(ref)) is None:
            return Found(problem=f'{ref.kind.lower()}s "{ref.name}" not found', missing=True)
        return Found(body)

    return look


def refusal(volume: Any, look: Lookup, pod: Pod | None = None) -> str:
    with pytest.raises(VolumeError) as caught:
        bound(pod or make_pod(), volume, look)
    return caught.value.said


def test_a_bound_claim_leads_to_its_volume() -> None:
    found = bound(make_pod(), BY_CLAIM, looking(CLAIM, VOLUME))
    assert (found.name, found.volume, found.read_only) == ("pv", "data", True)
    assert found.spec["local"] == {"path": "/disk"}


@pytest.mark.parametrize(
    ("claim", "volume", "words"),
    [
        (None, VOLUME, 'failed to fetch PVC from API server: persistentvolumeclaims "c" not found'),
        ({**CLAIM, "status": {"phase": "Pending"}}, VOLUME, "PVC is not bound"),
        ({**CLAIM, "spec": {}}, VOLUME, "PVC has empty pvc.Spec.VolumeName"),
        ({**CLAIM, "metadata": {"uid": "cu", "deletionTimestamp": "x"}}, VOLUME, "PVC is being deleted"),
        (CLAIM, None, 'failed to fetch PV pv from API server: persistentvolumes "pv" not found'),
        (
            CLAIM,
            {"metadata": {"name": "pv"}, "spec": {}},
            "found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim",
        ),
        (
            CLAIM,
            {"metadata": {"name": "pv"}, "spec": {"claimRef": {"uid": "zz"}}},
            "found PV object pv but its pv.Spec.ClaimRef.UID zz does not point to claim.UID cu",
        ),
    ],
)
def test_what_is_not_bound_yet_is_said_in_the_kubelets_words(claim: Any, volume: Any, words: str) -> None:
    assert refusal(BY_CLAIM, looking(claim, volume)) == f"error processing PVC d/c: {words}"


def test_a_claim_that_is_going_and_still_protected_may_be_used() -> None:
    going = {"uid": "cu", "deletionTimestamp": "x", "finalizers": ["kubernetes.io/pvc-protection"]}
    assert bound(make_pod(), BY_CLAIM, looking({**CLAIM, "metadata": going}, VOLUME)).name == "pv"


def test_a_block_volume_is_no_directory() -> None:
    block = {**VOLUME, "spec": {**VOLUME["spec"], "volumeMode": "Block"}}
    with pytest.raises(VolumeError, match="volumeMode Block, but is specified in volumeMounts"):
        bound(make_pod(), BY_CLAIM, looking(CLAIM, block))


def test_an_ephemeral_volume_uses_the_claim_that_the_pod_owns() -> None:
    mine = {"name": "p-data", "uid": "cu", "ownerReferences": [{"uid": "u1", "controller": True}]}
    assert bound(make_pod(), EPHEMERAL, looking({**CLAIM, "metadata": mine}, VOLUME, "p-data")).name == "pv"


def test_an_ephemeral_volume_refuses_a_claim_of_somebody_elses() -> None:
    other = {"name": "p-data", "uid": "cu", "ownerReferences": [{"uid": "u2", "controller": True}]}
    said = refusal(EPHEMERAL, looking({**CLAIM, "metadata": other}, VOLUME, "p-data"))
    assert said == "PVC d/p-data was not created for pod d/p (pod is not owner)"


def on_node(operator: str, *values: str, key: str = "zone") -> dict[str, Any]:
    expression = {"key": key, "operator": operator, "values": list(values)}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {**VOLUME, "spec": {**VOLUME["spec"], "nodeAffinity": {"required": required}}}


@pytest.mark.parametrize(
    ("volume", "fits"),
    [
        (VOLUME, True),
        (on_node("In", "a", "b"), True),
        (on_node("In", "c"), False),
        (on_node("NotIn", "c"), True),
        (on_node("NotIn", "a"), False),
        (on_node("Exists"), True),
        (on_node("DoesNotExist"), False),
        (on_node("Gt", "3", key="size"), True),
        (on_node("Lt", "3", key="size"), False),
        (on_node("Gt", "x", key="zone"), False),
        (on_node("Sometimes", "a"), False),
    ],
)
def test_a_volume_is_had_only_where_its_affinity_says(volume: dict[str, Any], fits: bool) -> None:
    found = bound(make_pod(), BY_CLAIM, looking(CLAIM, volume))
    labels = {"zone": "a", "size": "5"}
    if fits:
        check_node(found, labels, "n1")
        return
    with pytest.raises(VolumeError) as caught:
        check_node(found, labels, "n1")
    assert caught.value.said == (
        'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms'
    )
