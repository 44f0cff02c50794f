"""QoS classes from requests and limits."""

from typing import Any

import pytest

from podherd.model.qos import qos_class

HALF = {"cpu": "500m", "memory": "1Gi"}


def body(*resources: dict[str, Any], init: tuple[dict[str, Any], ...] = (), pod: Any = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"resources": each} for each in resources]}
    if init:
        spec["initContainers"] = [{"resources": each} for each in init]
    if pod is not None:
        spec["resources"] = pod
    return {"spec": spec}


@pytest.mark.parametrize(
    ("of", "qos"),
    [
        (body({}), "BestEffort"),
        ({"spec": {"containers": [{}]}}, "BestEffort"),
        (body({"requests": {"cpu": "0", "memory": 0}}), "BestEffort"),
        (body({"requests": {"ephemeral-storage": "1Gi"}}), "BestEffort"),
        (body({"requests": HALF, "limits": HALF}), "Guaranteed"),
        (body({"requests": {"cpu": 0.5, "memory": "1024Mi"}, "limits": HALF}), "Guaranteed"),
        (body({"requests": HALF, "limits": HALF}, {}), "Burstable"),
        (body({"requests": HALF | {"cpu": "0"}, "limits": HALF}), "Burstable"),
        (body({"requests": {"cpu": "1m"}}), "Burstable"),
        (body({"requests": HALF, "limits": HALF | {"cpu": "1"}}), "Burstable"),
        (body({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}), "Burstable"),
        (body({"requests": HALF, "limits": HALF}, init=({},)), "Burstable"),
        (body({}, init=({"requests": HALF, "limits": HALF},)), "Burstable"),
        (body({}, pod={"requests": HALF, "limits": HALF}), "Guaranteed"),
        (body({}, pod={"requests": HALF}), "Burstable"),
    ],
)
def test_the_class_follows_requests_and_limits(of: dict[str, Any], qos: str) -> None:
    assert qos_class(of) == qos
