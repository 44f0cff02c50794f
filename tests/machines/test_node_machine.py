"""What the node tells: its facts at once and when they change, its status to the API server at the right times."""

from typing import Any

from podherd.machines import node_machine as machine
from podherd.machines.capacity import Amounts, Reserve, allocatable, capacity
from podherd.machines.node import Facts, Image
from podherd.wire import codec
from podherd.wire.node import PlegHealth, VolumesInUse

INFO = {"operatingSystem": "linux", "architecture": "amd64", "bootID": "b2"}
FACTS = Facts(
    "n1", "host1", ("192.0.2.1",), Amounts(4, 8 << 30, 100 << 30, 110), INFO, taints=(("k", "v", "NoSchedule"),)
)
WELL = machine.Looked("containerd://2.0", "", "", "cgroupfs")


def api_node(**changes: Any) -> machine.ApiNode:
    node: dict[str, Any] = {
        "metadata": {"name": "n1", "uid": "u1", "labels": {"zone": "a"}},
        "spec": {},
        "status": {},
    }
    return machine.ApiNode(codec.pack({**node, **changes}))


def made() -> machine.NodeMachine:
    return machine.NodeMachine(FACTS, "cgroupfs", machine.Reporting(10.0, 300.0))


def reports(told: list[machine.Instruction]) -> list[dict[str, Any]]:
    return [codec.unpack(each.status) for each in told if isinstance(each, machine.Report)]


def events(told: list[machine.Instruction]) -> list[str]:
    return [each.event.reason for each in told if isinstance(each, machine.Emit)]


def well(node: machine.NodeMachine, now: float) -> list[machine.Instruction]:
    return node.handle(now, WELL, PlegHealth(now, 0.1, 0, 0, ()))


def test_whoever_asks_for_facts_gets_those_of_this_machine_before_any_server_answers() -> None:
    (told,) = made().handle(0.0, machine.FactsWanted("sources"))
    assert isinstance(told, machine.TellFacts)
    assert (told.actor, told.facts.uid, told.facts.labels["kubernetes.io/hostname"]) == ("sources", "", "host1")
    assert told.facts.taints[0].key == "k"


def test_labels_and_taints_are_the_api_servers_once_it_has_the_node() -> None:
    node = made()
    told = [each for each in node.handle(1.0, api_node()) if isinstance(each, machine.TellFacts)]
    assert [(each.actor, each.facts.uid, each.facts.labels, each.facts.taints) for each in told] == [
        ("", "u1", {"zone": "a"}, ())
    ]
    assert not [each for each in node.handle(2.0, api_node()) if isinstance(each, machine.TellFacts)]


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
    image = machine.Images((Image(("a:1",), 7),))
    assert reports(node.handle(3.0, image)) == []
    assert reports(well(node, 12.0))[0]["images"] == [{"names": ["a:1"], "sizeBytes": 7}]
    assert reports(well(node, 40.0)) == []
    assert len(reports(well(node, 313.0))) == 1


def test_a_status_that_was_not_taken_is_sent_again() -> None:
    node = made()
    node.handle(1.0, api_node())
    assert len(reports(well(node, 2.0))) == 1
    assert len(reports(node.handle(2.5, machine.ReportFailed()))) == 1


def ready_since(status: str, since: str = "2020-01-01T00:00:00Z") -> machine.ApiNode:
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
    told = node.handle(1.0 + machine.START_S, machine.NotLooked())
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
