"""An adopted Node keeps what others gave it; its Lease is renewed by whoever holds it."""

from podherd.kube.node_object import lease_of, renewed, status_patch, to_adopt

ATTACHED = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
WANTED = {"metadata": {"labels": {"kubernetes.io/os": "linux", "disk": "ssd"}, "annotations": ATTACHED}}


def test_a_node_gets_the_labels_that_every_node_has_and_keeps_what_others_gave_it() -> None:
    there = {"metadata": {"labels": {"disk": "hdd"}, "annotations": {"own": "x", **ATTACHED}}}
    assert to_adopt(there, WANTED) == {"metadata": {"labels": {"kubernetes.io/os": "linux"}}}


def test_that_volumes_are_attached_by_the_controller_is_told_and_taken_back() -> None:
    labels = WANTED["metadata"]["labels"]
    bare = {"metadata": {"labels": labels}}
    assert to_adopt(bare, WANTED) == {"metadata": {"annotations": ATTACHED}}
    assert to_adopt(WANTED, bare) == {"metadata": {"annotations": dict.fromkeys(ATTACHED)}}


def test_a_status_replaces_addresses_and_puts_labels_right_beside_it() -> None:
    status = {"conditions": [{"type": "DiskPressure"}, {"type": "Ready"}], "addresses": [{"type": "Hostname"}]}
    patch = status_patch(status, {})
    assert patch["status"]["addresses"] == [{"type": "Hostname"}, {"$patch": "replace"}]
    assert patch["status"]["$setElementOrder/conditions"] == status["conditions"]
    assert "metadata" not in patch
    assert status_patch(status, {"a": "b"})["metadata"] == {"labels": {"a": "b"}}


def test_a_node_that_has_all_is_left_alone() -> None:
    assert to_adopt(WANTED, WANTED) is None


def test_a_renewed_lease_keeps_its_version_and_moves_its_time_alone() -> None:
    lease = lease_of("n1", "u1", 40, 1_700_000_000.25)
    lease["metadata"]["resourceVersion"] = "7"
    later = renewed(lease, "n1", "u1", 40, 1_700_000_010.25)
    assert later["metadata"] == lease["metadata"]
    assert (lease["spec"].pop("renewTime"), later["spec"].pop("renewTime")) == (
        "2023-11-14T22:13:20.250000Z", "2023-11-14T22:13:30.250000Z",
    )  # fmt: skip
    assert later["spec"] == lease["spec"]
