"""An adopted Node keeps what others gave it; its Lease is renewed by whoever holds it."""

from podherd.kube.node_object import lease_of, renewed, to_adopt

WANTED = {"metadata": {"labels": {"a": "1"}, "annotations": {"b": "2"}}}


def test_a_node_that_lacks_labels_gets_these_and_keeps_its_own() -> None:
    there = {"metadata": {"labels": {"own": "x"}, "annotations": {"b": "2"}}}
    assert to_adopt(there, WANTED) == {"metadata": {"labels": {"a": "1"}}}


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
