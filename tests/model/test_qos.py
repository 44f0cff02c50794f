"""QoS classes and sums of resources."""

import pytest
from tests.kit.pods import pod

from podherd.model.qos import qos_class
from podherd.model.resources import pod_amounts

FULL = {"cpu": "1", "memory": "1Gi"}


def _containers(*resources):
    return [{"name": f"c{n}", "image": "a:1", "resources": each} for n, each in enumerate(resources)]


@pytest.mark.parametrize(
    ("resources", "qos"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"cpu": "0"}}], "BestEffort"),
        ([{"limits": {"ephemeral-storage": "1Gi"}}], "BestEffort"),
        ([{"limits": FULL}], "Guaranteed"),
        ([{"limits": FULL, "requests": {"cpu": "1000m", "memory": "1024Mi"}}], "Guaranteed"),
        ([{"limits": FULL, "requests": {"cpu": "500m"}}], "Burstable"),
        ([{"limits": {"memory": "1Gi"}}], "Burstable"),
        ([{"requests": FULL}], "Burstable"),
        ([{"limits": FULL}, {}], "Burstable"),
        ([{"limits": FULL}, {"limits": FULL}], "Guaranteed"),
    ],
)
def test_qos_follows_cpu_and_memory_of_all_containers(resources, qos):
    assert qos_class(pod({"containers": _containers(*resources)}).body) == qos


def test_an_init_container_counts_for_qos():
    body = pod({"containers": _containers({"limits": FULL}), "initContainers": [{"name": "i", "image": "a:1"}]}).body
    assert qos_class(body) == "Burstable"


def test_pod_level_resources_decide_qos():
    assert qos_class(pod({"resources": {"limits": FULL}}).body) == "Guaranteed"


def _init(name, cpu, sidecar=False):
    policy = {"restartPolicy": "Always"} if sidecar else {}
    return {"name": name, "image": "a:1", "resources": {"requests": {"cpu": cpu}}, **policy}


@pytest.mark.parametrize(
    ("init", "milli"),
    [
        ([], 300),
        ([_init("i", "200m")], 300),
        ([_init("i", "900m")], 900),
        ([_init("s", "100m", sidecar=True)], 400),
        ([_init("s", "100m", sidecar=True), _init("i", "350m")], 450),
        ([_init("i", "350m"), _init("s", "100m", sidecar=True)], 400),
    ],
)
def test_a_pods_requests_are_the_most_that_runs_at_once(init, milli):
    spec = {
        "containers": _containers({"requests": {"cpu": "100m"}}, {"requests": {"cpu": "200m"}}),
        "initContainers": init,
    }
    assert pod_amounts(pod(spec), "requests") == {"cpu": milli}
