"""Resources and oom_score_adj (kubelet behaviour, section 3.11; case SPEC-3)."""

from dataclasses import replace

import pytest
from tests.cri.conftest import HOST, container_of, sandbox_of, settings
from tests.kit.pods import pod, pod_with

from podherd.cri.convert import cautions
from podherd.errors import ContainerConfigError


def _linux(made, **more):
    return container_of(made, **more).linux.resources


def _with(requests=None, limits=None, **spec):
    return pod_with(spec, resources={"requests": requests or {}, "limits": limits or {}})


@pytest.mark.parametrize(
    ("limit", "size"),
    [
        ("100m", 1),
        ("1e3", 1000),
        ("1.5Gi", 1_610_612_736),
        ("129M", 129_000_000),
        (536_870_912, 536_870_912),
        (5.36870912e08, 536_870_912),
        ("0", 0),
    ],
)
def test_spec_3_memory_limits(limit, size):
    assert _linux(_with(limits={"memory": limit})).memory_limit_in_bytes == size


@pytest.mark.parametrize("limit", ["128MB", "-1"])
def test_spec_3_bad_memory_is_an_error_that_names_container_and_value(limit):
    made = pod_with()
    made.containers[0].body["resources"] = {"limits": {"memory": limit}}
    with pytest.raises(ContainerConfigError, match=f"container app: quantity '{limit}'"):
        container_of(made)


def test_spec_3_a_part_of_a_byte_is_warned_of():
    made = _with(requests={"memory": 1}, limits={"memory": "100m"}, dnsPolicy="Default")
    (caution,) = cautions(made, settings(), HOST)
    assert "'100m' in containers[app].resources.limits[memory]" in caution.message
    assert cautions(_with(limits={"memory": "100M", "cpu": "100m"}, dnsPolicy="Default"), settings(), HOST) == []


@pytest.mark.parametrize(("request_", "shares"), [("1m", 2), ("5m", 5), ("0", 2), ("1", 1024), ("300", 262_144)])
def test_spec_3_cpu_shares(request_, shares):
    assert _linux(_with(requests={"cpu": request_})).cpu_shares == shares


@pytest.mark.parametrize(
    ("limit", "period_us", "quota_us"),
    [
        ("5m", 100_000, 1000),
        ("500m", 100_000, 50_000),
        ("5m", 10_000, 1000),
        ("500m", 10_000, 5000),
        ("1E", 100_000, 2**44 - 1),
    ],
)
def test_spec_3_cpu_quota_follows_the_period(limit, period_us, quota_us):
    resources = _linux(_with(limits={"cpu": limit}), node=settings(cpu_cfs_period_us=period_us))
    assert (resources.cpu_quota, resources.cpu_period) == (quota_us, period_us)


def test_without_a_request_the_limit_gives_the_shares_and_without_a_limit_there_is_no_quota():
    made = pod_with()
    made.containers[0].body["resources"] = {"limits": {"cpu": "2"}}
    assert _linux(made).cpu_shares == 2048
    bare = _linux(pod_with())
    assert (bare.cpu_shares, bare.cpu_quota, bare.memory_limit_in_bytes) == (2, 0, 0)


def test_no_quota_at_all_when_the_node_does_not_enforce_it():
    resources = _linux(_with(limits={"cpu": "1"}), node=settings(cpu_cfs_quota=False))
    assert (resources.cpu_quota, resources.cpu_period) == (0, 0)


def test_a_pod_level_limit_stands_in_for_a_missing_one():
    made = _with(limits={"cpu": "1"}, resources={"limits": {"cpu": "2", "memory": "1Gi"}})
    resources = _linux(made)
    assert (resources.cpu_quota, resources.memory_limit_in_bytes) == (100_000, 1 << 30)


@pytest.mark.parametrize(
    ("own", "whole", "quota_us", "memory", "shares"),
    [
        ({"limits": {"cpu": "0", "memory": "0"}}, {"cpu": "2", "memory": "1Gi"}, 200_000, 1 << 30, 2),
        ({}, {"cpu": "2"}, 200_000, 0, 2048),
        ({"limits": {"memory": "1Mi"}}, {"cpu": "2", "memory": "1Gi"}, 200_000, 1 << 20, 2048),
        ({"requests": {"cpu": "1"}}, {"cpu": "2"}, 200_000, 0, 1024),
    ],
)
def test_what_a_container_does_not_limit_the_pod_limits(own, whole, quota_us, memory, shares):
    resources = _linux(pod_with({"resources": {"limits": whole}}, resources=own))
    assert (resources.cpu_quota, resources.memory_limit_in_bytes, resources.cpu_shares) == (quota_us, memory, shares)


def test_huge_pages_of_the_pod_and_then_of_the_container():
    host = replace(HOST, hugepage_sizes=("64KB", "2MB", "1GB"))
    whole = {"limits": {"cpu": "1", "hugepages-2Mi": "8Mi", "hugepages-64Ki": "128Ki", "hugepages-32Mi": "32Mi"}}
    made = pod_with({"resources": whole}, resources={"limits": {"hugepages-2Mi": "4Mi"}})
    limits = {each.page_size: each.limit for each in _linux(made, host=host).hugepage_limits}
    assert limits == {"64KB": 128 << 10, "2MB": 4 << 20, "1GB": 0}


def test_huge_pages_are_listed_for_every_size_of_the_node():
    host = replace(HOST, hugepage_sizes=("2MB", "1GB"))
    limits = _linux(_with(limits={"hugepages-2Mi": "4Mi", "cpu": "1", "memory": "1Gi"}), host=host).hugepage_limits
    assert {each.page_size: each.limit for each in limits} == {"2MB": 4 << 20, "1GB": 0}


@pytest.mark.parametrize(
    ("swap", "single", "unified"),
    [
        (True, False, {"memory.oom.group": "1", "memory.swap.max": "0"}),
        (False, False, {"memory.oom.group": "1"}),
        (True, True, {"memory.swap.max": "0"}),
    ],
)
def test_unified_hierarchy_gets_group_kill_and_no_swap(swap, single, unified):
    host = replace(HOST, cgroup_v2=True, swap=swap)
    resources = _linux(_with(limits={"memory": "1Gi"}), host=host, node=settings(single_process_oom_kill=single))
    assert dict(resources.unified) == unified
    assert resources.memory_swap_limit_in_bytes == 0


@pytest.mark.parametrize(("swap", "limit"), [(True, 1 << 30), (False, 0)])
def test_on_v1_memory_and_swap_together_get_the_memory_limit(swap, limit):
    resources = _linux(_with(limits={"memory": "1Gi"}), host=replace(HOST, swap=swap))
    assert resources.memory_swap_limit_in_bytes == limit
    assert not resources.unified


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("resources", "spec", "score"),
    [
        ({}, {}, 1000),
        ({"limits": FULL}, {}, -997),
        ({"requests": {"memory": "4Gi"}}, {}, 500),
        ({"requests": {"memory": "8Gi"}}, {}, 3),
        ({"requests": {"memory": "1"}}, {}, 999),
        ({"requests": {"cpu": "1"}}, {}, 999),
        ({}, {"priorityClassName": "system-node-critical"}, -997),
        ({}, {"priorityClassName": "system-cluster-critical"}, 1000),
        ({}, {"resources": {"requests": {"memory": "2Gi"}}}, 750),
    ],
)
def test_oom_score_adj_by_qos_and_memory_request(resources, spec, score):
    assert _linux(pod_with(spec, resources=resources)).oom_score_adj == score


def test_a_sidecar_is_killed_no_sooner_than_the_smallest_regular_container():
    memory = {"name": "app", "image": "a:1", "resources": {"requests": {"memory": "2Gi"}}}
    sidecar = {"name": "side", "image": "a:1", "restartPolicy": "Always"}
    made = pod({"containers": [memory], "initContainers": [sidecar]})
    assert _linux(made, index=1).oom_score_adj == _linux(made).oom_score_adj == 750


@pytest.mark.parametrize(
    ("containers", "pod_memory", "scores"),
    [
        (["1Gi", "0"], "4Gi", [1000 - 125 - 187, 1000 - 187]),
        (["1Gi", "1Gi"], "2Gi", [875, 875]),
        (["0"], "8Gi", [3]),
    ],
)
def test_memory_of_the_pod_that_no_container_asks_for_is_divided_among_them(containers, pod_memory, scores):
    made = pod({
        "containers": [
            {"name": f"c{n}", "image": "a:1", "resources": {"requests": {"memory": size}}}
            for n, size in enumerate(containers)
        ],
        "resources": {"requests": {"memory": pod_memory}},
    })  # fmt: skip
    found = [_linux(made, index=index).oom_score_adj for index in range(len(containers))]
    assert found == pytest.approx(scores, abs=1)


def test_a_sidecar_of_a_pod_with_resources_of_its_own_gets_its_part_too():
    memory = {"name": "app", "image": "a:1", "resources": {"requests": {"memory": "1Gi"}}}
    sidecar = {"name": "side", "image": "a:1", "restartPolicy": "Always"}
    made = pod({"containers": [memory], "initContainers": [sidecar], "resources": {"requests": {"memory": "3Gi"}}})
    assert _linux(made, index=1).oom_score_adj == _linux(made).oom_score_adj == 750


def test_sandbox_carries_the_sum_and_the_overhead_apart():
    container = {"image": "a:1", "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}}
    made = pod({"containers": [{"name": n, **container} for n in "ab"], "overhead": {"cpu": "250m", "memory": "8Mi"}})
    linux = sandbox_of(made).linux
    assert (linux.resources.cpu_shares, linux.resources.memory_limit_in_bytes) == (204, 2 << 30)
    assert (linux.overhead.cpu_shares, linux.overhead.memory_limit_in_bytes) == (256, 8 << 20)
    assert not sandbox_of(pod_with()).linux.HasField("overhead")
