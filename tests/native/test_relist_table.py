"""The rules of the relist table one by one, both implementations, on replies that the real CRI v1 messages made."""

from typing import Any

import pytest
from cri_api.v1 import api_pb2

from podherd.errors import TruncatedError
from podherd.native import relist as compiled
from podherd.native.changes import Change
from podherd.native.fallback import relist as fallback

READY, NOTREADY = api_pb2.PodSandboxState.SANDBOX_READY, api_pb2.PodSandboxState.SANDBOX_NOTREADY
CREATED, RUNNING, EXITED = 0, 1, 2
NONE = b""


@pytest.fixture(params=[compiled.Table, fallback.Table], ids=["compiled", "fallback"])
def table(request: pytest.FixtureRequest) -> Any:
    return request.param()


def box(ident: str, uid: str, state: int = READY, name: str = "web", namespace: str = "default") -> Any:
    metadata = api_pb2.PodSandboxMetadata(name=name, uid=uid, namespace=namespace, attempt=1)
    return api_pb2.PodSandbox(
        id=ident, metadata=metadata, state=state, created_at=1_760_000_000_000_000_000, runtime_handler="runc",
        labels={"app": "web"}, annotations={"note": "x" * 300},
    )  # fmt: skip


def con(ident: str, sandbox: str, uid: str = "", state: int = RUNNING) -> Any:
    pod = {"io.kubernetes.pod.uid": uid, "io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.name": "web"}
    return api_pb2.Container(
        id=ident, pod_sandbox_id=sandbox, metadata=api_pb2.ContainerMetadata(name="c", attempt=300),
        image=api_pb2.ImageSpec(image="busybox"), image_ref="sha256:1", state=state, created_at=7,
        labels={**(pod if uid else {}), "io.kubernetes.container.name": "c"}, annotations={"note": "y" * 200},
    )  # fmt: skip


def boxes(*items: Any) -> bytes:
    return bytes(api_pb2.ListPodSandboxResponse(items=items).SerializeToString())


def cons(*items: Any) -> bytes:
    return bytes(api_pb2.ListContainersResponse(containers=items).SerializeToString())


def test_a_first_relist_tells_everything_and_the_same_again_nothing(table: Any) -> None:
    replies = (
        boxes(box("s1", "u1"), box("s2", "u2", NOTREADY)),
        cons(con("c1", "s1", "u1"), con("c2", "s2", "u2", EXITED)),
    )
    assert table.relist(*replies) == [
        Change("sandbox", "s1", "u1", "default", "web", "", "ready"),
        Change("sandbox", "s2", "u2", "default", "web", "", "notready"),
        Change("container", "c1", "u1", "default", "web", "", "running"),
        Change("container", "c2", "u2", "default", "web", "", "exited"),
    ]
    assert table.relist(*replies) == []
    assert table.pods() == [("u1", "default", "web"), ("u2", "default", "web")]
    assert table.states("u1") == {"s1": "ready", "c1": "running"}
    assert (len(table), table.counts()) == (4, (2, 2))


def test_every_change_is_a_named_tuple_whose_fields_have_names(table: Any) -> None:
    (change,) = table.relist(boxes(box("s1", "u1")), NONE)
    assert type(change) is Change
    assert (change.kind, change.id, change.pod_uid, change.old_state, change.new_state) == (
        "sandbox",
        "s1",
        "u1",
        "",
        "ready",
    )


def test_an_exit_and_a_removal_are_told_with_the_old_state(table: Any) -> None:
    table.relist(boxes(box("s1", "u1")), cons(con("c1", "s1", "u1"), con("c2", "s1", "u1")))
    changes = table.relist(boxes(), cons(con("c2", "s1", "u1", EXITED)))
    assert [(c.id, c.old_state, c.new_state) for c in changes] == [
        ("s1", "ready", ""),
        ("c2", "running", "exited"),
        ("c1", "running", ""),
    ]
    table.relist(NONE, NONE)
    assert (table.pods(), len(table)) == ([], 0)


def test_a_container_without_labels_belongs_to_its_sandboxs_pod(table: Any) -> None:
    (_, change) = table.relist(boxes(box("s1", "u1", name="named", namespace="there")), cons(con("c1", "s1")))
    assert change == Change("container", "c1", "u1", "there", "named", "", "running")


def test_what_is_no_pods_is_left_out_until_it_is_some_pods(table: Any) -> None:
    assert table.relist(boxes(box("s1", "")), cons(con("c1", "s1"), con("", "s1", "u1"))) == []
    assert len(table) == 0
    changes = table.relist(boxes(box("s1", "u1")), cons(con("c1", "s1")))
    assert [c.id for c in changes] == ["s1", "c1"]
    assert [(c.id, c.new_state) for c in table.relist(boxes(box("s1", "")), cons(con("c1", "s1")))] == [("s1", "")]
    assert table.states("u1") == {"c1": "running"}


def test_a_move_to_another_pod_is_gone_from_the_one_and_new_in_the_other(table: Any) -> None:
    table.relist(boxes(box("s1", "u1"), box("s2", "u2")), cons(con("c1", "s1")))
    changes = table.relist(boxes(box("s1", "u1"), box("s2", "u2")), cons(con("c1", "s2")))
    assert [(c.id, c.pod_uid, c.old_state, c.new_state) for c in changes] == [
        ("c1", "u1", "running", ""),
        ("c1", "u2", "", "running"),
    ]
    assert (table.states("u1"), table.states("u2")) == ({"s1": "ready"}, {"s2": "ready", "c1": "running"})


def test_metadata_in_parts_is_merged_and_says_nothing_about_the_next_relist(table: Any) -> None:
    whole, parts = b"\x0a\x0a\x0a\x02s1\x12\x04\x12\x02u1", b"\x0a\x11\x0a\x02s1\x12\x05\x1a\x03far\x12\x04\x12\x02u1"
    assert table.relist(parts, NONE) == [Change("sandbox", "s1", "u1", "far", "", "", "ready")]
    assert table.relist(parts, NONE) == []
    assert [(c.namespace, c.new_state) for c in table.relist(whole, NONE)] == [("far", ""), ("", "ready")]
    table.relist(parts, NONE)
    assert table.relist(b"\x0a\x04\x0a\x02s1", NONE) == [Change("sandbox", "s1", "u1", "far", "", "ready", "")]


def test_pods_that_trade_their_only_entries_both_stay(table: Any) -> None:
    table.relist(boxes(box("s1", "u1"), box("s2", "u2")), NONE)
    assert len(table.relist(boxes(box("s1", "u2"), box("s2", "u1")), NONE)) == 4
    assert table.states("u1") == {"s2": "ready"}
    assert table.states("u2") == {"s1": "ready"}


def test_a_move_to_another_sandbox_of_the_pod_is_a_change_of_equal_states(table: Any) -> None:
    table.relist(boxes(box("s1", "u1"), box("s2", "u1")), cons(con("c1", "s1", "u1")))
    (change,) = table.relist(boxes(box("s1", "u1"), box("s2", "u1")), cons(con("c1", "s2", "u1")))
    assert (change.id, change.old_state, change.new_state) == ("c1", "running", "running")


def test_labels_of_a_known_container_are_not_read_again(table: Any) -> None:
    table.relist(NONE, cons(con("c1", "s1", "u1")))
    assert table.relist(NONE, cons(con("c1", "s1", "u2"))) == []


def test_the_last_of_two_entries_with_one_id_counts(table: Any) -> None:
    changes = table.relist(NONE, cons(con("c1", "s1", "u1", CREATED), con("c1", "s1", "u1", EXITED)))
    assert [c.new_state for c in changes] == ["exited"]
    again = cons(con("c1", "s1", "u1", RUNNING), con("c1", "s1", "u1", EXITED))
    assert table.relist(NONE, again) == []


def test_states_that_cri_v1_does_not_know_count_as_unknown_or_not_ready(table: Any) -> None:
    changes = table.relist(boxes(box("s1", "u1", 9)), cons(con("c1", "s1", "u1", 9)))
    assert [c.new_state for c in changes] == ["notready", "unknown"]


def test_forget_makes_the_next_relist_tell_the_pod_anew(table: Any) -> None:
    replies = boxes(box("s1", "u1"), box("s2", "u2")), cons(con("c1", "s1", "u1"), con("c2", "s2", "u2"))
    table.relist(*replies)
    table.forget("u1")
    table.forget("no such pod")
    assert (table.states("u1"), table.counts()) == ({}, (1, 1))
    assert [(c.id, c.old_state) for c in table.relist(*replies)] == [("s1", ""), ("c1", "")]


def test_clear_makes_the_table_as_new(table: Any) -> None:
    replies = boxes(box("s1", "u1")), cons(con("c1", "s1", "u1"))
    first = table.relist(*replies)
    table.clear()
    assert (len(table), table.pods(), table.states("u1")) == (0, [], {})
    assert table.relist(*replies) == first


def test_truncated_containers_leave_sandboxes_of_the_same_relist_unlearned(table: Any) -> None:
    table.relist(boxes(box("s1", "u1")), NONE)
    whole = cons(con("c1", "s2", "u2"))
    with pytest.raises(TruncatedError, match=r"ListContainers reply: .* \(field at byte 0 of \d+\)"):
        table.relist(boxes(box("s2", "u2"), box("s1", "u1", NOTREADY)), whole[:-1])
    assert (table.pods(), table.states("u1")) == ([("u1", "default", "web")], {"s1": "ready"})
    changes = table.relist(boxes(box("s2", "u2"), box("s1", "u1", NOTREADY)), whole)
    assert [(c.id, c.old_state, c.new_state) for c in changes] == [
        ("s2", "", "ready"),
        ("s1", "ready", "notready"),
        ("c1", "", "running"),
    ]


def test_two_full_names_of_one_uid_are_both_listed_and_forgotten_together(table: Any) -> None:
    table.relist(boxes(box("s1", "u1", name="a"), box("s2", "u1", name="b"), box("s3", "u1", name="c")), NONE)
    assert table.pods() == [("u1", "default", "a"), ("u1", "default", "b"), ("u1", "default", "c")]
    table.relist(boxes(box("s1", "u1", name="a"), box("s3", "u1", name="c")), NONE)
    assert table.states("u1") == {"s1": "ready", "s3": "ready"}
    table.forget("u1")
    assert (table.pods(), len(table)) == ([], 0)


def test_thousands_that_come_and_go_are_all_told(table: Any) -> None:
    for start in (0, 2500, 5000, 0):
        wanted = {f"{index:064d}" for index in range(start, start + 4000)}
        before = set() if len(table) == 0 else {c for uid, _, _ in table.pods() for c in table.states(uid)}
        changes = table.relist(NONE, cons(*(con(ident, "s", f"u{ident[-1]}") for ident in sorted(wanted))))
        assert {c.id for c in changes if c.new_state} == wanted - before
        assert {c.id for c in changes if not c.new_state} == before - wanted
        assert len(table) == 4000
