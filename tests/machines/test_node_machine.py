"""What the node tells: its facts at once and when they change, its status to the API server at the right times."""

from dataclasses import replace
from typing import Any

from podherd.machines import node_events as heard
from podherd.machines.capacity import Amounts, Reserve, allocatable, capacity
from podherd.machines.node import Facts, Handler, Image
from podherd.machines.node_instructions import Emit, Instruction, Report, TellFacts
from podherd.machines.node_machine import NodeMachine
from podherd.machines.node_report import START_S, Reporting
from podherd.wire import codec
from podherd.wire.node import PlegHealth, VolumesInUse

INFO = {"operatingSystem": "linux", "architecture": "amd64", "bootID": "b2"}
FACTS = Facts(
    "n1", "host1", ("192.0.2.1",), Amounts(4, 8 << 30, 100 << 30, 110), INFO, taints=(("k", "v", "NoSchedule"),)
)
WELL = heard.Looked("containerd://2.0", "", "", "cgroupfs")


LABELS = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "zone": "a"}


def api_node(**changes: Any) -> heard.ApiNode:
    node: dict[str, Any] = {
        "metadata": {"name": "n1", "uid": "u1", "labels": LABELS},
        "spec": {},
        "status": {},
    }
    return heard.ApiNode(codec.pack({**node, **changes}))


def made() -> NodeMachine:
    return NodeMachine(FACTS, "cgroupfs", Reporting(10.0, 300.0))


def reports(told: list[Instruction]) -> list[dict[str, Any]]:
    return [codec.unpack(each.status) for each in told if isinstance(each, Report)]


def events(told: list[Instruction]) -> list[str]:
    return [each.event.reason for each in told if isinstance(each, Emit)]


def well(node: NodeMachine, now: float) -> list[Instruction]:
    return node.handle(now, WELL, PlegHealth(now, 0.1, 0, 0, ()))


def test_whoever_asks_for_facts_gets_those_of_this_machine_before_any_server_answers() -> None:
    (told,) = made().handle(0.0, heard.FactsWanted("sources"))
    assert isinstance(told, TellFacts)
    assert (told.actor, told.facts.uid, told.facts.labels["kubernetes.io/hostname"]) == ("sources", "", "host1")
    assert told.facts.taints[0].key == "k"


def test_labels_and_taints_are_the_api_servers_once_it_has_the_node() -> None:
    node = made()
    told = [each for each in node.handle(1.0, api_node()) if isinstance(each, TellFacts)]
    assert [(each.actor, each.facts.uid, each.facts.labels, each.facts.taints) for each in told] == [
        ("", "u1", LABELS, ())
    ]
    assert not [each for each in node.handle(2.0, api_node()) if isinstance(each, TellFacts)]


def test_nothing_is_reported_of_a_node_that_the_api_server_does_not_have() -> None:
    assert reports(well(made(), 1.0)) == []


def test_a_turn_of_ready_is_reported_at_once_with_its_event() -> None:
    node = made()
    first = node.handle(1.0, api_node())
    assert reports(first)[0]["conditions"][-1]["status"] == "False"
    assert events(first) == ["NodeHasSufficientMemory", "NodeHasNoDiskPressure", "NodeHasSufficientPID"]
    second = well(node, 2.0)
    assert reports(second)[0]["conditions"][-1]["reason"] == "KubeletReady"
    assert events(second) == ["NodeReady"]


def test_other_changes_wait_for_the_update_time_and_no_change_for_the_report_time() -> None:
    node = made()
    node.handle(1.0, api_node())
    well(node, 2.0)
    image = heard.Images((Image(("a:1",), 7),))
    assert reports(node.handle(3.0, image)) == []
    assert reports(well(node, 12.0))[0]["images"] == [{"names": ["a:1"], "sizeBytes": 7}]
    assert reports(well(node, 40.0)) == []


def next_report_s(node: NodeMachine, since: float) -> float:
    """Seconds from `since` to the next report of a node that is well and does not change."""
    steps = (since + 10.0 * step for step in range(1, 100))
    return next(now for now in steps if reports(well(node, now))) - since


def test_without_a_change_all_is_told_every_report_time_and_after_a_change_at_another_time_on_each_node() -> None:
    first = set()
    for name in ("n1", "n2", "n3", "n4"):
        node = NodeMachine(replace(FACTS, node_name=name), "cgroupfs", Reporting(10.0, 300.0))
        node.handle(1.0, api_node())
        well(node, 2.0)
        after_change_s = next_report_s(node, 2.0)
        assert 150.0 <= after_change_s <= 460.0
        assert next_report_s(node, 2.0 + after_change_s) == 300.0
        first.add(after_change_s)
    assert len(first) > 1


def test_a_status_that_was_not_taken_is_sent_again() -> None:
    node = made()
    node.handle(1.0, api_node())
    assert len(reports(well(node, 2.0))) == 1
    assert len(reports(node.handle(2.5, heard.ReportFailed()))) == 1


def ready_since(status: str, since: str = "2020-01-01T00:00:00Z") -> heard.ApiNode:
    return api_node(status={"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": since}]})


def test_an_actor_that_begins_anew_does_not_take_back_that_the_node_is_ready() -> None:
    node = made()
    assert reports(node.handle(1.0, ready_since("True"))) == []
    assert reports(node.handle(2.0, WELL)) == []
    told = node.handle(3.0, PlegHealth(3.0, 0.1, 0, 0, ()))
    (ready,) = [each for each in reports(told)[0]["conditions"] if each["type"] == "Ready"]
    assert (ready["status"], ready["lastTransitionTime"]) == ("True", "2020-01-01T00:00:00Z")
    assert "NodeReady" not in events(told)


def test_a_runtime_that_stays_silent_after_the_start_is_told_of_in_the_end() -> None:
    node = made()
    node.handle(1.0, ready_since("True"))
    told = node.handle(1.0 + START_S, heard.NotLooked())
    assert reports(told)[0]["conditions"][-1]["status"] == "False"
    assert "NodeNotReady" in events(told)


def test_a_node_that_the_cluster_gave_up_is_reported_again_at_once() -> None:
    node = made()
    node.handle(1.0, api_node())
    well(node, 2.0)
    told = node.handle(1.7e9, WELL, PlegHealth(1.7e9, 0.1, 0, 0, ()), ready_since("Unknown"))
    ready = reports(told)[0]["conditions"][-1]
    assert (ready["status"], ready["lastTransitionTime"]) == ("True", "2023-11-14T22:13:20Z")
    assert events(told) == ["NodeReady"]


def test_times_of_transition_are_the_api_servers_where_the_status_is_the_same() -> None:
    since = "2020-01-01T00:00:00Z"
    node = made()
    condition = {"type": "MemoryPressure", "status": "False", "lastTransitionTime": since}
    (status,) = reports(node.handle(1.7e9, api_node(status={"conditions": [condition]})))
    by_type = {each["type"]: each["lastTransitionTime"] for each in status["conditions"]}
    assert by_type["MemoryPressure"] == since
    assert by_type["DiskPressure"] != since
    assert list(by_type)[-1] == "Ready"


def test_a_reboot_and_a_cordon_are_events() -> None:
    node = made()
    assert "Rebooted" in events(node.handle(1.0, api_node(status={"nodeInfo": {"bootID": "b1"}})))
    assert "NodeNotSchedulable" in events(node.handle(2.0, api_node(spec={"unschedulable": True})))
    assert "NodeSchedulable" in events(node.handle(3.0, api_node()))


def test_volumes_in_use_of_every_shard_are_reported_together() -> None:
    node = made()
    node.handle(1.0, api_node())
    node.handle(1.0, VolumesInUse("pod_shard-0", ("b",)), VolumesInUse("pod_shard-1", ("a", "b")))
    assert reports(well(node, 20.0))[0]["volumesInUse"] == ["a", "b"]


def test_allocatable_is_capacity_without_reserves_and_thresholds_and_never_negative() -> None:
    amounts = Amounts(4, 8 << 30, 100 << 30, 110, (("2MB", 2 << 30),))
    reserve = Reserve(
        {"cpu": "500m", "memory": "1Gi"}, {"cpu": "250m"}, {"memory.available": "1Gi", "nodefs.available": "10%"}
    )
    assert capacity(amounts)["hugepages-2Mi"] == str(2 << 30)
    given = allocatable(amounts, reserve)
    assert (given["cpu"], given["memory"], given["ephemeral-storage"]) == ("3250m", f"{4 << 20}Ki", str(90 << 30))
    assert allocatable(amounts, Reserve({"cpu": "9", "memory": "1Ti"}))["cpu"] == "0"
    pages = Amounts(4, 8 << 30, 100 << 30, 110, (("2MB", 8 << 20),))
    assert allocatable(pages, Reserve({"hugepages-2Mi": "2Mi"}))["hugepages-2Mi"] == str(6 << 20)


def test_a_node_that_is_found_ready_turns_nothing_and_one_that_is_found_cordoned_is_told() -> None:
    """As the kubelet: no event for a condition that there was not before, but for pressures."""
    node = made()
    well(node, 1.0)
    found = events(node.handle(2.0, api_node(spec={"unschedulable": True})))
    assert found[0] == "NodeNotSchedulable"
    assert "NodeReady" not in found


def test_labels_of_the_system_are_put_right_with_the_next_status() -> None:
    node = made()
    node.handle(1.0, api_node())
    well(node, 2.0)
    wrong = {"name": "n1", "uid": "u1", "labels": {**LABELS, "kubernetes.io/os": "plan9"}}
    assert reports(node.handle(3.0, api_node(metadata=wrong))) == []
    (report,) = [each for each in well(node, 12.0) if isinstance(each, Report)]
    assert report.labels == {"kubernetes.io/os": "linux"}


def test_what_somebody_else_writes_over_the_status_is_put_right_and_the_answer_to_the_own_patch_is_not() -> None:
    node = made()
    status = reports(node.handle(1.0, api_node(), WELL, PlegHealth(1.0, 0.1, 0, 0, ())))[0]
    taken = api_node(status={**status, "capacity": {**status["capacity"], "memory": "8Gi"}})
    node.handle(2.0, heard.Reported(taken.body), taken)
    assert reports(well(node, 30.0)) == []
    meddled = api_node(status={**status, "capacity": {**status["capacity"], "memory": "1Gi"}})
    assert len(reports(node.handle(31.0, meddled))) == 1


def test_extended_resources_are_told_by_others_and_pods_may_have_all_of_them() -> None:
    node = made()
    node.handle(1.0, api_node())
    well(node, 2.0)
    stale = {"example.com/gone": "1", "hugepages-1Gi": "0"}
    there = {"capacity": {"example.com/dongle": "4", "hugepages-1Gi": "0"}, "allocatable": stale}
    told = node.handle(12.0, api_node(status=there))
    (status,) = reports(told)
    assert status["allocatable"]["example.com/dongle"] == "4"
    assert (status["allocatable"]["example.com/gone"], status["capacity"]["hugepages-1Gi"]) == (None, None)
    assert "example.com/dongle" not in status["capacity"]
    (facts,) = [each.facts for each in told if isinstance(each, TellFacts)]
    assert facts.allocatable["example.com/dongle"] == facts.capacity["example.com/dongle"] == "4"
    assert "example.com/gone" not in facts.allocatable


def test_after_a_reboot_extended_resources_are_none_until_their_owners_tell_of_them_anew() -> None:
    node = made()
    before = {"nodeInfo": {"bootID": "b1"}, "capacity": {"example.com/dongle": "4"}}
    (status,) = reports(node.handle(1.0, api_node(status=before)))
    assert status["capacity"]["example.com/dongle"] == status["allocatable"]["example.com/dongle"] == "0"
    again = api_node(status={**status, "capacity": {"example.com/dongle": "2"}})
    node.handle(2.0, heard.Reported(api_node(status=status).body), again)
    (status,) = reports(well(node, 20.0))
    assert status["allocatable"]["example.com/dongle"] == "2"


def test_a_runtime_that_says_for_long_that_it_is_not_ready_is_down_too() -> None:
    node = made()
    well(node, 0.0)
    node.handle(1.0, api_node())
    sick = replace(WELL, not_ready="container runtime not ready: RuntimeReady=false reason:x message:y")
    (status,) = reports(node.handle(20.0, sick))
    assert status["conditions"][-1]["message"] == sick.not_ready
    (status,) = reports(node.handle(40.0, sick, PlegHealth(40.0, 0.1, 0, 0, ())))
    assert status["conditions"][-1]["message"] == f"[container runtime is down, {sick.not_ready}]"


def test_handlers_and_features_are_told_once_the_runtime_has_told_them_in_the_order_of_their_names() -> None:
    node = made()
    (status,) = reports(node.handle(1.0, api_node()))
    assert not {"runtimeHandlers", "features"} & status.keys()
    handlers = (Handler("runc", True, True), Handler("", False, True))
    looked = replace(WELL, handlers=handlers, supplemental_groups=True)
    (status,) = reports(node.handle(2.0, looked, PlegHealth(2.0, 0.1, 0, 0, ())))
    assert status["features"] == {"supplementalGroupsPolicy": True}
    assert status["runtimeHandlers"] == [
        {"name": "", "features": {"recursiveReadOnlyMounts": False, "userNamespaces": True}},
        {"name": "runc", "features": {"recursiveReadOnlyMounts": True, "userNamespaces": True}},
    ]


def test_a_volume_in_use_is_reported_at_once_and_known_ones_stand_until_every_shard_has_told() -> None:
    node = NodeMachine(replace(FACTS, shards=2), "cgroupfs", Reporting(10.0, 300.0))
    node.handle(1.0, api_node(status={"volumesInUse": ["old"]}))
    well(node, 2.0)
    (status,) = reports(node.handle(3.0, VolumesInUse("pod_shard-0", ("new",))))
    assert status["volumesInUse"] == ["new", "old"]
    (status,) = reports(node.handle(4.0, VolumesInUse("pod_shard-1", ())))
    assert status["volumesInUse"] == ["new"]
    assert reports(node.handle(5.0, VolumesInUse("pod_shard-1", ()))) == []


def test_drivers_and_the_volumes_that_the_server_has_are_facts_and_without_a_csinode_the_node_is_not_ready() -> None:
    node = made()
    node.handle(1.0, api_node(status={"volumesInUse": ["v"]}), heard.CsiNodeState("CSINode is not yet initialized"))
    assert reports(well(node, 2.0)) == []
    told = node.handle(3.0, heard.CsiNodeState(""), heard.CsiSockets({"d": "/d.sock"}))
    (facts,) = [each.facts for each in told if isinstance(each, TellFacts)]
    assert (facts.csi_sockets, facts.volumes_in_use) == ({"d": "/d.sock"}, ("v",))
    assert reports(told)[0]["conditions"][-1]["status"] == "True"
