"""What the status machine asks of the API server, and when."""

from itertools import pairwise
from typing import Any

from tests.machines.status.made import FAILED, RUNNING, T1, api_pod, condition, container, facts, local, static, status

from podherd.machines.status import StatusMachine
from podherd.machines.status.events import Deleted, Failed, MirrorMade, Patched, Woke
from podherd.machines.status.instructions import CreateMirror, DeletePod, PatchStatus, WakeAt
from podherd.wire import codec
from podherd.wire.api import ApiPodGone, ApiRoster
from podherd.wire.desired import Gone, Roster
from podherd.wire.status import PodForgotten

NODE = "n1"
SUCCEEDED = status("Succeeded", container("terminated"))


def machine() -> StatusMachine:
    return StatusMachine(NODE)


def asked(instructions: list[Any]) -> list[Any]:
    return [each for each in instructions if not isinstance(each, WakeAt)]


def patched(what: dict[str, Any], uid: str = "u1", name: str = "p", version: str = "11") -> Patched:
    return Patched("ns", name, uid, version, False, codec.pack(what))


def failed(code: int, reason: str = "", retry_after_s: float = 0.0, name: str = "p") -> Failed:
    return Failed("ns", name, code, "", reason, retry_after_s)


def test_a_status_is_patched_once_both_sides_are_known_in_either_order() -> None:
    one, other = machine(), machine()
    assert one.handle(0.0, local(RUNNING)) == []
    assert other.handle(0.0, api_pod()) == []
    (patch,) = one.handle(1.0, api_pod())
    assert (patch,) == tuple(other.handle(1.0, local(RUNNING)))
    assert isinstance(patch, PatchStatus)
    assert patch.patch["metadata"] == {"uid": "u1", "resourceVersion": "10"}
    assert patch.patch["status"]["phase"] == "Running"
    assert one.handle(2.0, patched(RUNNING)) == []


def test_statuses_that_come_while_a_patch_is_under_way_are_told_by_one_more() -> None:
    it = machine()
    assert len(it.handle(0.0, local(status("Pending")), api_pod())) == 1
    assert it.handle(1.0, local(RUNNING | {"message": "1"})) == []
    assert it.handle(2.0, local(RUNNING | {"message": "2"})) == []
    (patch,) = it.handle(3.0, patched(status("Pending")))
    assert patch.patch["status"]["message"] == "2"


def test_the_echo_of_a_patch_and_older_news_change_nothing() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod(version="9"))
    assert it.handle(1.0, patched(RUNNING, version="100")) == []
    assert it.handle(2.0, api_pod(version="11")) == []
    assert it.handle(3.0, api_pod(RUNNING, version="100")) == []


def test_news_that_outran_the_answer_stand() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod())
    newer = RUNNING | {"reason": "Meddled"}
    it.handle(1.0, api_pod(newer, version="12"))
    (patch,) = it.handle(2.0, patched(RUNNING, version="11"))
    assert patch.patch["status"] == {"reason": None}


def test_where_versions_cannot_be_compared_news_during_a_patch_do_not_revert_its_answer() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod(version="a"))
    assert it.handle(1.0, api_pod(version="b", deleting=True)) == []
    assert it.handle(2.0, patched(RUNNING, version="c")) == []
    (delete,) = it.handle(3.0, local(SUCCEEDED, finished=True))
    it.handle(4.0, patched(SUCCEEDED, version="d"))
    assert isinstance(delete, PatchStatus)


def test_a_status_that_somebody_overwrites_is_mended_at_once_and_then_ever_more_slowly() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod(RUNNING))
    broken, now, waits = RUNNING | {"message": "mine"}, 1.0, []
    for turn in range(2, 8):
        out = it.handle(now, api_pod(broken, version=f"{turn * 10}"))
        if isinstance(out[0], WakeAt):
            waits.append(out[0].at - now)
            now = out[0].at
            out = it.handle(now, Woke())
        assert isinstance(out[0], PatchStatus)
        it.handle(now, patched(RUNNING, version=f"{turn * 10 + 1}"))
    assert len(waits) == 4
    assert all(2 * early == late for early, late in pairwise(waits))


def test_a_patch_without_effect_is_not_repeated_at_once_and_holds_up_no_other() -> None:
    it = machine()
    told = RUNNING | {"message": "dropped by the server"}
    it.handle(0.0, local(told), api_pod())
    (wake,) = it.handle(1.0, patched(RUNNING))
    assert isinstance(wake, WakeAt)
    assert 10.0 <= wake.at <= 15.1
    (patch,) = asked(it.handle(2.0, local(told | {"podIP": "10.0.0.1"})))
    assert patch.patch["status"].keys() == {"message", "podIP"}
    out = it.handle(3.0, patched(RUNNING | {"podIP": "10.0.0.1"}, version="12"))
    assert asked(out) == []


def test_failures_back_off_with_a_spread_by_pod_up_to_a_cap() -> None:
    it, now, waits = machine(), 0.0, []
    it.handle(now, local(RUNNING), api_pod())
    for _ in range(9):
        (wake,) = it.handle(now, failed(500))
        waits.append(wake.at - now)
        now = wake.at
        assert isinstance(it.handle(now, Woke())[0], PatchStatus)
    assert 1.0 <= waits[0] <= 1.5
    assert waits[1] == 2 * waits[0]
    assert waits[-1] == waits[-2] <= 90.0


def test_a_wake_that_comes_too_early_is_asked_for_again() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod())
    (wake,) = it.handle(0.0, failed(500))
    assert it.handle(wake.at - 0.001, Woke()) == [wake]


def test_retry_after_is_honoured() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod())
    assert it.handle(0.0, failed(429, retry_after_s=30.0)) == [WakeAt(30.0)]


MODIFIED = "the object has been modified"


def test_a_conflict_is_worked_out_anew() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod())
    (wake,) = it.handle(0.0, failed(409, MODIFIED))
    (patch,) = it.handle(wake.at, local(RUNNING | {"message": "new"}))
    assert patch.patch["status"]["message"] == "new"


def test_a_phase_is_only_written_onto_the_object_that_it_was_worked_out_for() -> None:
    it = machine()
    (patch,) = it.handle(0.0, local(RUNNING), api_pod(version="10"))
    assert patch.patch["metadata"]["resourceVersion"] == "10"
    (patch,) = it.handle(1.0, local(RUNNING | {"message": "new"}), patched(RUNNING))
    assert patch.patch["metadata"] == {"uid": "u1"}


def test_after_a_conflict_the_newer_object_is_not_waited_for_longer_than_it_takes() -> None:
    early, late = machine(), machine()
    for it in (early, late):
        it.handle(0.0, local(RUNNING), api_pod())
    assert early.handle(0.0, api_pod(version="11")) == []
    assert isinstance(early.handle(0.1, failed(409, MODIFIED))[0], PatchStatus)
    assert isinstance(late.handle(0.0, failed(409, MODIFIED))[0], WakeAt)
    (patch,) = asked(late.handle(0.1, api_pod(version="11")))
    assert patch.patch["metadata"]["resourceVersion"] == "11"


def test_a_pod_that_is_gone_or_another_one_is_forgotten() -> None:
    reasons = {404: "not found", 409: "Precondition failed: UID in precondition: u1, UID in object meta: u2"}
    for code, reason in (*reasons.items(), (422, 'Pod "p" is invalid: metadata.uid: field is immutable')):
        it = machine()
        it.handle(0.0, local(RUNNING), api_pod())
        assert it.handle(1.0, failed(code, reason)) == []
        assert it.handle(2.0, api_pod(version="12")) == []
        (patch,) = it.handle(3.0, api_pod(uid="u2", version="13"), local(RUNNING, uid="u2"))
        assert patch.uid == "u2"


def test_a_status_that_the_server_finds_invalid_is_not_mistaken_for_a_pod_that_is_gone() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod())
    out = it.handle(1.0, failed(422, "status.containerStatuses[0].user.linux.uid: Invalid value: -1"))
    assert isinstance(out[0], WakeAt)


def test_once_the_server_answers_anybody_all_who_had_no_answer_try_at_once() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod(), local(RUNNING, "u2", "q"), api_pod(uid="u2", name="q"))
    for turn in range(5):
        it.handle(0.0, failed(0), failed(0, name="q"))
        out = it.handle(100.0 * (turn + 1), Woke())
    assert len(out) == 2
    it.handle(500.0, failed(0))
    out = it.handle(501.0, patched(RUNNING, "u2", "q"))
    assert [each.name for each in asked(out)] == ["p"]


def test_a_full_list_ends_the_waiting_too() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod())
    it.handle(0.0, failed(0))
    assert isinstance(it.handle(0.1, ApiRoster(("u1",)))[0], PatchStatus)


def test_no_more_requests_are_under_way_than_allowed_and_those_who_wait_tell_their_newest() -> None:
    it = StatusMachine(NODE, most=2)
    names = [f"p{number}" for number in range(5)]
    first = it.handle(
        0.0, *(local(RUNNING, f"u-{n}", n) for n in names), *(api_pod(uid=f"u-{n}", name=n) for n in names)
    )
    assert [each.name for each in first] == ["p0", "p1"]
    assert it.handle(1.0, local(RUNNING | {"message": "new"}, "u-p2", "p2")) == []
    (third,) = it.handle(2.0, patched(RUNNING, "u-p0", "p0"))
    assert (third.name, third.patch["status"]["message"]) == ("p2", "new")


def test_a_pod_is_deleted_when_it_is_deleting_finished_and_told_to_be_over() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING, deleting=True), api_pod(RUNNING, deleting=True))
    (patch,) = it.handle(1.0, local(SUCCEEDED, deleting=True))
    assert patch.patch["status"]["phase"] == "Succeeded"
    assert it.handle(2.0, patched(SUCCEEDED)) == []
    (delete,) = it.handle(3.0, local(SUCCEEDED, deleting=True, finished=True))
    assert isinstance(delete, DeletePod)
    assert (delete.uid, delete.name) == ("u1", "p")
    assert it.handle(4.0, Deleted("ns", "p", "u1")) == []
    assert it.handle(5.0, api_pod(SUCCEEDED, deleting=True, version="12")) == []
    assert it.handle(6.0, ApiPodGone("u1", "ns", "p"), PodForgotten("u1", "ns", "p")) == []
    assert it._lanes == {}


def test_a_finished_pod_that_nobody_deletes_stays() -> None:
    it = machine()
    assert it.handle(0.0, api_pod(SUCCEEDED), local(SUCCEEDED, finished=True)) == []


def test_a_pod_is_deleted_although_a_part_of_its_status_is_never_taken() -> None:
    it = machine()
    end = SUCCEEDED | {"message": "dropped"}
    it.handle(0.0, api_pod(deleting=True), local(end, deleting=True, finished=True))
    assert isinstance(it.handle(1.0, patched(SUCCEEDED))[0], DeletePod)


def test_everything_told_again_to_a_new_machine_asks_for_nothing() -> None:
    names = [f"p{number}" for number in range(3)]
    it = machine()
    told = [local(RUNNING, f"u-{n}", n) for n in names] + [api_pod(RUNNING, f"u-{n}", n) for n in names]
    mirror = api_pod(RUNNING, "m1", "s", mirror_of="s1")
    told += [facts(), static(name="s"), mirror, local(RUNNING, "s1", "s", source="file")]
    assert it.handle(0.0, *told, Roster(("s1",), True), ApiRoster(("u-p0", "u-p1", "u-p2", "m1"))) == []


def test_what_changed_while_no_machine_was_there_is_patched() -> None:
    it = machine()
    assert len(it.handle(0.0, api_pod(RUNNING), ApiRoster(("u1",)), local(FAILED))) == 1


def test_a_pod_that_the_full_list_lacks_is_gone() -> None:
    it = machine()
    it.handle(0.0, api_pod(), ApiRoster(()))
    assert it.handle(1.0, local(RUNNING)) == []


def mirrored(*, node_uid: str = "node-uid") -> tuple[StatusMachine, list[Any]]:
    it = machine()
    return it, it.handle(0.0, static(), Roster(("s1",), True), ApiRoster(()), facts(node_uid))


def test_a_mirror_pod_is_a_marked_copy_owned_by_the_node() -> None:
    _, (create,) = mirrored()
    assert isinstance(create, CreateMirror)
    metadata = create.body["metadata"]
    assert metadata["annotations"]["kubernetes.io/config.mirror"] == "s1"
    assert metadata["annotations"]["mine"] == "yes"
    assert metadata["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Node", "name": NODE, "uid": "node-uid", "controller": True}
    ]
    assert "uid" not in metadata
    assert "status" not in create.body
    assert create.body["spec"]["nodeName"] == NODE


def test_no_mirror_is_made_before_the_node_and_the_pods_of_the_api_are_known() -> None:
    it, out = mirrored(node_uid="")
    assert out == []
    assert it.handle(1.0, facts("x", deleting=True)) == []
    assert isinstance(it.handle(2.0, facts("x"))[0], CreateMirror)
    unlisted = machine()
    assert unlisted.handle(0.0, static(), facts()) == []
    assert isinstance(unlisted.handle(1.0, ApiRoster(()))[0], CreateMirror)


def test_the_status_of_a_static_pod_waits_for_its_mirror_and_goes_to_the_mirrors_uid() -> None:
    it, _ = mirrored()
    assert it.handle(1.0, local(RUNNING, "s1", source="file")) == []
    (patch,) = it.handle(2.0, MirrorMade("ns", "p", "m1", "20", codec.pack({"phase": "Pending"})))
    assert (patch.uid, patch.patch["metadata"]["uid"]) == ("m1", "m1")
    assert it.handle(3.0, api_pod(uid="m1", version="20", mirror_of="s1")) == []
    assert it.handle(4.0, patched(RUNNING, "m1", version="21")) == []


def test_a_mirror_that_somebody_deletes_is_deleted_for_good_and_made_again() -> None:
    it, _ = mirrored()
    it.handle(1.0, MirrorMade("ns", "p", "m1", "20", b"\x80"))
    (delete,) = it.handle(2.0, api_pod(uid="m1", version="21", deleting=True, mirror_of="s1"))
    assert (type(delete), delete.uid) == (DeletePod, "m1")
    (create,) = it.handle(3.0, Deleted("ns", "p", "m1"))
    assert isinstance(create, CreateMirror)
    assert it.handle(4.0, api_pod(uid="m1", version="22", deleting=True, mirror_of="s1")) == []
    assert it.handle(5.0, MirrorMade("ns", "p", "m2", "23", b"\x80"), ApiPodGone("m1", "ns", "p")) == []


def test_a_mirror_that_is_gone_is_made_again() -> None:
    it, _ = mirrored()
    it.handle(1.0, MirrorMade("ns", "p", "m1", "20", b"\x80"))
    assert isinstance(it.handle(2.0, ApiPodGone("m1", "ns", "p"))[0], CreateMirror)


def test_the_mirror_of_an_edited_static_pod_is_replaced() -> None:
    it, _ = mirrored()
    it.handle(1.0, MirrorMade("ns", "p", "m1", "20", b"\x80"))
    (delete,) = it.handle(2.0, Gone("s1", "ns", "p", "edited"), static("s2"))
    assert isinstance(delete, DeletePod)
    (create,) = it.handle(3.0, Deleted("ns", "p", "m1"))
    assert create.body["metadata"]["annotations"]["kubernetes.io/config.mirror"] == "s2"


def test_an_orphaned_mirror_is_deleted_once_all_sources_are_known_and_nothing_of_the_name_still_ends() -> None:
    it = machine()
    orphan = api_pod(RUNNING, "m1", mirror_of="s1")
    assert it.handle(0.0, orphan, ApiRoster(("m1",)), Roster((), False)) == []
    assert it.handle(0.0, Roster((), True)) == [WakeAt(2.0)]
    assert asked(it.handle(1.0, local(RUNNING, "s1", source="file", deleting=True))) == []
    assert asked(it.handle(5.0, Woke())) == []
    it.handle(6.0, PodForgotten("s1", "ns", "p"))
    assert isinstance(it.handle(8.0, Woke())[0], DeletePod)


def test_an_api_pod_whose_name_a_static_pod_has_is_let_go_when_it_is_deleted() -> None:
    it = machine()
    it.handle(0.0, static(), Roster(("s1",), True), ApiRoster(("u1",)), facts(), api_pod(version="1"))
    assert it.handle(1.0, api_pod(version="2", deleting=True)) == [WakeAt(3.0)]
    assert isinstance(it.handle(3.0, Woke())[0], DeletePod)
    assert isinstance(it.handle(4.0, Deleted("ns", "p", "u1"))[0], CreateMirror)


def test_a_mirror_just_made_survives_a_list_that_is_older() -> None:
    it, _ = mirrored()
    it.handle(1.0, MirrorMade("ns", "p", "m1", "20", b"\x80"))
    assert it.handle(2.0, ApiRoster(())) == []
    it.handle(3.0, api_pod(uid="m1", version="20", mirror_of="s1"))
    assert isinstance(it.handle(4.0, ApiRoster(()))[0], CreateMirror)


def test_a_condition_of_another_owner_that_changes_asks_for_nothing() -> None:
    it = machine()
    it.handle(0.0, local(RUNNING), api_pod(RUNNING))
    gate = RUNNING | {"conditions": [*RUNNING["conditions"], condition("example.com/gate", "True", T1)]}
    assert it.handle(1.0, api_pod(gate, version="11")) == []
