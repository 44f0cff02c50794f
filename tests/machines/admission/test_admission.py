"""The node's word on each pod, in the kubelet's words (kubelet behaviour, sections 2.6 and 8.6)."""

from dataclasses import replace

import pytest
from tests.machines.admission.asking import FACTS, admission, body, judge, word

from podherd.machines.admission import Admission
from podherd.wire.node import Taint

AFFINITY = "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
PORTS = "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
TAINT = "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
NO_EXECUTE = Taint("k", "v", "NoExecute")


def _ports(*ports):
    return [{"name": "c", "image": "x", "ports": list(ports)}]


def _port(number, ip="", protocol="TCP"):
    return {"containerPort": 1, "hostPort": number, "hostIP": ip, "protocol": protocol}


def test_nothing_is_judged_before_the_node_is_known():
    made = Admission()
    assert not made.ready
    with pytest.raises(ValueError, match="facts"):
        judge(made, body())


@pytest.mark.parametrize(
    ("before", "requests", "said"),
    [
        ({"cpu": "1500m"}, {"cpu": "600m"},
         "OutOfcpu: Node didn't have enough resource: cpu, requested: 600, used: 1500, capacity: 2000"),
        ({"memory": "3Gi"}, {"memory": "2Gi"},
         "OutOfmemory: Node didn't have enough resource: memory, requested: 2147483648, used: 3221225472, "
         "capacity: 4294967296"),
        ({}, {"ephemeral-storage": "11Gi"},
         "OutOfephemeral-storage: Node didn't have enough resource: ephemeral-storage, requested: 11811160064, "
         "used: 0, capacity: 10737418240"),
        ({}, {"hugepages-2Mi": "2Mi"},
         "OutOfhugepages-2Mi: Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, "
         "capacity: 0"),
        ({"cpu": "1500m"}, {"cpu": "500m"}, ""),
        ({}, {"example.com/gpu": "3"}, ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_the_kubelets_numbers(before, requests, said):
    made = admission()
    assert word(made, body("first", before)) == ""
    assert word(made, body("second", requests)) == said


def test_an_extended_resource_that_the_node_has_is_counted():
    made = admission(allocatable={**FACTS.allocatable, "example.com/gpu": "1"})
    assert word(made, body("a", {"example.com/gpu": "1"})) == ""
    assert word(made, body("b", {"example.com/gpu": "1"})).startswith("OutOfexample.com/gpu: ")


def test_the_number_of_pods_is_limited():
    made = admission()
    assert [word(made, body(f"p{number}")) for number in range(4)] == [""] * 4
    assert (
        word(made, body("p4"))
        == "OutOfpods: Node didn't have enough resource: pods, requested: 1, used: 4, capacity: 4"
    )


def test_overhead_sidecars_and_pod_resources_count():
    made = admission()
    heavy = {"name": "i", "image": "x", "resources": {"requests": {"cpu": "1500m"}}}
    sidecar = {"name": "s", "image": "x", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    said = "OutOfcpu: Node didn't have enough resource: cpu, requested: {}, used: 0, capacity: 2000"
    assert word(made, body("o", {"cpu": "1900m"}, overhead={"cpu": "200m"})) == said.format(2100)
    assert word(made, body("s", {"cpu": "1100m"}, initContainers=[sidecar])) == said.format(2100)
    assert word(made, body("i", initContainers=[sidecar, heavy])) == said.format(2500)
    assert word(made, body("p", {"cpu": "1"}, resources={"requests": {"cpu": "3"}})) == said.format(3000)


@pytest.mark.parametrize(
    ("held", "wanted", "free"),
    [
        (_port(80), _port(80), False),
        (_port(80), _port(81), True),
        (_port(80), _port(80, protocol="UDP"), True),
        (_port(80, "10.0.0.1"), _port(80, "10.0.0.2"), True),
        (_port(80, "10.0.0.1"), _port(80, "10.0.0.1"), False),
        (_port(80, "10.0.0.1"), _port(80), False),
        (_port(80, "0.0.0.0"), _port(80, "10.0.0.1"), False),
    ],
)
def test_host_ports_clash_by_address_protocol_and_number(held, wanted, free):
    made = admission()
    assert word(made, body("a", containers=_ports(held))) == ""
    assert word(made, body("b", containers=_ports(wanted))) == ("" if free else PORTS)
    made.over("u-a")
    assert word(made, body("c", containers=_ports(wanted))) == ("" if not free else PORTS)


def test_labels_name_and_system_of_the_node_must_match():
    made = admission()
    assert word(made, body("a", nodeSelector={"zone": "b"})) == AFFINITY
    assert word(made, body("b", nodeSelector={"zone": "a"})) == ""
    assert word(made, body("c", nodeName="n2")) == (
        "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name"
    )
    assert word(made, body("d", labels={"kubernetes.io/os": "windows"})) == (
        "PodOSSelectorNodeLabelDoesNotMatch: "
        "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
    )
    assert word(made, body("e", os={"name": "windows"})) == (
        "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS"
    )
    assert word(made, body("f", os={"name": "linux"})) == ""


def test_strict_groups_are_refused_where_the_runtime_would_pass_over_them() -> None:
    context = {"supplementalGroupsPolicy": "Strict"}
    made = admission()
    assert word(made, body("a", securityContext=context)) == ""
    made.use(replace(FACTS, strict_groups=False))
    assert word(made, body("b", securityContext=context)) == (
        "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node"
    )
    assert word(made, body("c", securityContext={"supplementalGroupsPolicy": "Merge"})) == ""


def test_resources_are_told_before_labels():
    assert word(admission(), body("a", {"cpu": "3"}, nodeSelector={"zone": "b"})).startswith("OutOfcpu: ")


def test_no_execute_taints_turn_away_all_but_static_pods():
    made = admission(taints=(NO_EXECUTE, Taint("other", "", "NoSchedule")))
    assert word(made, body("a")) == TAINT
    assert word(made, body("b", static=True), static=True) == ""
    assert word(made, body("c", tolerations=[{"key": "k", "value": "v", "effect": "NoExecute"}])) == ""
    assert word(made, body("d", tolerations=[{"operator": "Exists"}])) == ""
    assert word(made, body("e", tolerations=[{"key": "k", "value": "w"}])) == TAINT


def test_pressure_turns_away_what_the_kubelet_would():
    memory = admission(pressure=("MemoryPressure",))
    assert word(memory, body("a")) == "Evicted: The node had condition: [MemoryPressure]. "
    assert word(memory, body("b", {"cpu": "1"})) == ""
    tolerant = [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}]
    assert word(memory, body("c", tolerations=tolerant)) == ""
    disk = admission(pressure=("MemoryPressure", "DiskPressure"))
    assert word(disk, body("a", {"cpu": "1"})) == "Evicted: The node had condition: [MemoryPressure DiskPressure]. "
    assert word(disk, body("b", priority=2_000_000_000)) == ""
    assert word(disk, body("c", static=True), static=True) == ""


def test_a_node_that_shuts_down_takes_nobody_in():
    made = admission(shutting_down=True)
    assert word(made, body("a", static=True), static=True) == (
        "NodeShutdown: Pod was rejected as the node is shutting down."
    )
    assert word(made, body("b", status={"startTime": "x"})) == ""


def test_a_pod_is_judged_once():
    made = admission()
    big = body("big", {"cpu": "2"})
    assert word(made, big) == ""
    refused = word(made, body("late", {"cpu": "1"}))
    assert refused.startswith("OutOfcpu")
    made.forget("u-big")
    assert word(made, body("late", {"cpu": "1"})) == refused
    assert word(made, body("new", {"cpu": "1"})) == ""


def test_what_was_accepted_before_is_never_refused_and_counts():
    made = admission()
    running = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}
    assert word(made, body("a", {"cpu": "5"}, status=running, nodeSelector={"zone": "b"}), problem=("X", "y")) == ""
    assert word(made, body("b", {"cpu": "1"})).startswith("OutOfcpu")


@pytest.mark.parametrize(
    "pod",
    [
        body("a", {"cpu": "2"}, status={"phase": "Failed", "startTime": "x"}),
        body("a", {"cpu": "2"}, status={"phase": "Pending"}, deleting=True),
    ],
)
def test_what_is_over_or_will_never_run_is_not_counted(pod):
    made = admission()
    assert word(made, pod) == ""
    assert word(made, body("b", {"cpu": "2"})) == ""


def test_a_pod_that_ends_frees_its_part():
    made = admission()
    running = body("a", {"cpu": "2"}, status={"phase": "Running", "startTime": "x"})
    assert word(made, running) == ""
    assert word(made, {**running, "status": {"phase": "Succeeded", "startTime": "x"}}) == ""
    assert word(made, body("b", {"cpu": "2"})) == ""


def test_what_a_shard_said_was_over_before_the_pod_was_listed_counts_as_over():
    made = admission()
    made.over("u-a")
    assert word(made, body("a", {"cpu": "2"}, status={"phase": "Running", "startTime": "x"})) == ""
    assert word(made, body("b", {"cpu": "2"})) == ""


def test_what_no_node_of_this_version_can_run_is_refused_with_that_reason():
    assert word(admission(), body("a"), problem=("PodFeatureUnsupported", "nfs")) == "PodFeatureUnsupported: nfs"


CRITICAL = 2_000_000_000


def test_a_critical_pod_waits_for_the_least_that_makes_room():
    made = admission()
    assert word(made, body("guaranteed", {"cpu": "1"}, limits={"cpu": "1", "memory": "1"})) == ""
    assert word(made, body("small", {"cpu": "200m"})) == ""
    assert word(made, body("large", {"cpu": "700m"})) == ""
    assert word(made, body("system", {"cpu": "600m"}, priority=CRITICAL)) == "waits for u-large"
    assert made.evicting() == {"u-large"}
    assert made.over("u-small") == []
    assert made.over("u-large") == ["u-system"]
    assert word(made, body("system", {"cpu": "600m"}, priority=CRITICAL)) == ""


def test_room_that_is_being_made_is_nobody_elses():
    made = admission()
    assert word(made, body("a", {"cpu": "2"})) == ""
    assert word(made, body("system", {"cpu": "1"}, static=True), static=True) == "waits for u-a"
    made.over("u-a")
    assert word(made, body("b", {"cpu": "1500m"})).startswith("OutOfcpu")
    assert word(made, body("c", {"cpu": "1"})) == ""


def test_critical_pods_do_not_give_way_to_each_other_unless_their_priority_is_lower():
    made = admission()
    assert word(made, body("a", {"cpu": "2"}, priority=CRITICAL)) == ""
    assert word(made, body("b", {"cpu": "1"}, priority=CRITICAL)) == (
        "UnexpectedAdmissionError: Unexpected error while attempting to recover from admission failure: preemption: "
        "error finding a set of pods to preempt: no set of running pods found to reclaim resources: "
        "[(res: cpu, q: 1000), ]"
    )
    assert word(made, body("c", {"cpu": "1"}, priority=CRITICAL + 1000)) == "waits for u-a"


def test_a_critical_pod_that_fails_for_another_reason_too_makes_nobody_leave():
    made = admission()
    assert word(made, body("a", {"cpu": "2"})) == ""
    pod = body("b", {"cpu": "1"}, priority=CRITICAL, nodeSelector={"zone": "b"})
    assert word(made, pod) == AFFINITY


def test_a_full_node_makes_room_for_a_critical_pod_by_ending_one():
    made = admission()
    for number in range(4):
        word(made, body(f"p{number}", {"memory": f"{4 - number}Mi"}))
    assert word(made, body("system", priority=CRITICAL)) == "waits for u-p3"


def test_a_waiting_pod_that_is_wanted_no_more_gives_its_place_back():
    made = admission()
    word(made, body("a", {"cpu": "2"}))
    word(made, body("system", {"cpu": "2"}, priority=CRITICAL))
    made.forget("u-system")
    made.over("u-a")
    assert word(made, body("b", {"cpu": "2"})) == ""


def test_labels_are_doubted_once_where_the_node_can_be_read():
    made = Admission(may_look=True)
    made.use(FACTS)
    pod = body("a", nodeSelector={"zone": "b"})
    assert judge(made, pod).doubtful
    assert made.looked({"zone": "b"}) == {"u-a"}
    assert word(made, pod) == ""
    other = body("c", nodeSelector={"zone": "c"})
    assert judge(made, other).doubtful
    made.looked(None)
    assert word(made, other) == AFFINITY
