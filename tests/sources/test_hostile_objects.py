"""What no API server of this version sends, and a newer, a foreign or a broken one may: each node lives through it.

Every object goes the whole way, beside a pod that there is nothing against and that must not notice: the source, the
sources' machine with admission, the wire, a shard's machine, and the runtime's configuration.
"""

from typing import Any

import pytest
from tests.kit.hostile_objects import Way, good, places, rich, survived, with_junk

from podherd.kube.door import Listed, Put

FEW = 3
JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 2**31, 2**63, 10**30, 1.5, 1e308, float("nan"), float("inf"), "", "x", "..", "../../x", "a\0b",
    "\udcff", "🙂" * 100, "x" * 70000, "9" * 70, "1e999", "-1", "Sometimes", [], {}, [None], [1], ["x"], [{}], [[]],
    {"x": 1}, {"": ""}, {"x": None},
)  # fmt: skip
UNREADABLE = "UnexpectedAdmissionError: the pod cannot be read: "


def deep(levels: int) -> Any:
    """Mappings in mappings."""
    made: Any = {}
    for _ in range(levels):
        made = {"a": made}
    return made


def spec(**more: Any) -> dict[str, Any]:
    """The good pod with more in its spec."""
    pod = good("odd")
    pod["spec"] |= more
    return pod


def one(**more: Any) -> dict[str, Any]:
    """The good pod with more in its container."""
    return spec(containers=[{"name": "c", "image": "x:1", **more}])


def meta(**more: Any) -> dict[str, Any]:
    """The good pod with other metadata."""
    pod = good("odd")
    pod["metadata"] |= more
    return pod


@pytest.mark.parametrize(
    "item",
    [
        {}, {"metadata": None}, {"metadata": []}, {"metadata": {}}, meta(name=None), meta(name=""), meta(name=7),
        meta(name="x" * 300), meta(name="a/b"), meta(name=".."), meta(name="a\0b"), meta(namespace=None),
        meta(namespace="../x"), meta(uid=None), meta(uid=""), meta(uid="../../etc"), meta(uid=7), meta(uid="\udcff"),
        {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "no"}, {"items": [good()]},
    ],
)  # fmt: skip
def test_an_object_without_a_usable_name_is_no_pod_and_harms_none(item: dict[str, Any]) -> None:
    way = Way()
    assert way.tell(Listed([item])) == {}
    assert way.tell(Put(item)) == {}
    assert survived(item) == ""


@pytest.mark.parametrize(
    "item",
    [
        {**good("odd"), "futureField": {"deep": [1, {"x": None}]}},
        meta(futureField=1, annotations=None, labels=None, managedFields="x", finalizers=None),
        spec(futureField=[1], futureList=[{"a": "b"}], volumes=None, initContainers=None, securityContext=None),
        one(futureField="x", env=None, ports=None, resources=None, volumeMounts=[None]),
        one(imagePullPolicy="Sometimes", terminationMessagePolicy="Shout"),
        spec(restartPolicy="OnceInAWhile"), spec(dnsPolicy="Somewhere"), spec(preemptionPolicy="Perhaps"),
        spec(tolerations=[{"operator": "Resembles", "key": "x", "effect": "Sometimes"}]),
        spec(dnsConfig={"options": [{"value": "no name"}, {}]}),
        one(volumeMounts=[{"name": "gone", "mountPath": "/x", "mountPropagation": "Sideways"}]),
        one(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
        one(resources={"limits": {"cpu": 2**63, "memory": "9" * 60}, "requests": {"cpu": "1m", "memory": 1}}),
        one(resources={"requests": {"memory": 5.36870912e08, "cpu": 0}, "limits": {"memory": 536870912, "cpu": "5m"}}),
        one(args=["x" * 2**20]), meta(annotations={"x": "x" * 2**20}),
        {**good("odd"), "status": 7}, {**good("odd"), "status": {"conditions": [{"type": "Ready"}, None, 7]}},
        {**good("odd"), "status": {"containerStatuses": [{"name": "c", "restartCount": 1e308}]}},
        {**good("odd"), "status": {"containerStatuses": [
            {"name": "c", "restartCount": 3, "state": {"terminated": {"exitCode": float("inf"), "finishedAt": "x"}}}]}},
        {**good("odd"), "status": {"containerStatuses": [
            {"name": "c", "lastState": {"terminated": {"exitCode": 1e30}}}]}},
    ],
)  # fmt: skip
def test_what_can_be_passed_over_is(item: dict[str, Any]) -> None:
    assert survived(item) == ""


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({**good("odd"), "spec": None}, UNREADABLE),
        ({**good("odd"), "spec": []}, f"{UNREADABLE}pod: spec: must be a mapping, not a list"),
        (meta(generation=2**64), UNREADABLE),
        (meta(creationTimestamp="\udcff"), UNREADABLE),
        (meta(annotations={"x": 1}), UNREADABLE),
        (spec(containers=None), UNREADABLE),
        (spec(containers=[None]), "UnexpectedAdmissionError: spec.containers: Required value"),
        (spec(containers={"a": 1}), UNREADABLE),
        (spec(containers=[{"name": "c"}]), UNREADABLE),
        (spec(containers=[{"image": "x"}]), UNREADABLE),
        (spec(containers=[{"name": "c", "image": "x"}] * 2),
         "UnexpectedAdmissionError: spec.containers[1].name: Duplicate value: 'c'"),
        (spec(initContainers=[{"name": "c", "image": "x"}]),
         "UnexpectedAdmissionError: spec.containers[0].name: Duplicate value: 'c'"),
        (spec(volumes=[{"name": "v"}, {"name": "v"}]),
         "UnexpectedAdmissionError: spec.volumes[1].name: Duplicate value: 'v'"),
        (spec(containers=[{"name": "../../c", "image": "x"}]), "UnexpectedAdmissionError: spec.containers[0].name:"),
        (spec(volumes=[{"name": "a/b", "emptyDir": {}}]), "UnexpectedAdmissionError: spec.volumes[0].name: Invalid"),
        (spec(futureField=deep(400)), UNREADABLE),
        (spec(terminationGracePeriodSeconds=1e308), UNREADABLE),
        (spec(terminationGracePeriodSeconds="soon"), UNREADABLE),
        (one(resources={"requests": {"cpu": "lots"}}), UNREADABLE),
        (one(resources={"requests": {"cpu": "1e999"}}), "OutOfcpu: Node didn't have enough resource: cpu, req"),
        (one(resources={"limits": {"memory": "128MB"}}), f"{UNREADABLE}quantity '128MB': is not a Kubernetes quantity"),
        (one(resources={"limits": {"memory": "-1"}}), f"{UNREADABLE}quantity '-1': must be greater than or equal to 0"),
        (one(command="a string"), UNREADABLE),
        (one(securityContext={"seccompProfile": {"type": "Future"}}),
         "securityContext: unknown type of profile 'Future'"),
        (one(securityContext={"appArmorProfile": {"type": "Localhost"}}),
         "securityContext: localhostProfile must be set if the profile's type is Localhost"),
        (one(ports=[{"containerPort": 1, "protocol": "QUIC"}]), "ports.protocol: unknown protocol 'QUIC'"),
        (one(lifecycle={"stopSignal": "SIGNOPE"}), "lifecycle of container c: unknown stopSignal 'SIGNOPE'"),
        (spec(os={"name": "templeos"}), "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_with_the_reason(item: dict[str, Any], said: str) -> None:
    assert survived(item).startswith(said)


def test_whatever_stands_in_whatever_place_nothing_is_thrown() -> None:
    pod, tried = rich(), 0
    for number, place in enumerate(places(pod)):
        for step in range(FEW):
            survived(with_junk(pod, place, JUNK[(FEW * number + step) % len(JUNK)]))
            tried += 1
    assert tried > 1000
