"""The defaults of API v1, field by field."""

import copy

import pytest

from podherd.model.defaults import set_defaults
from podherd.model.defaults.images import default_pull_policy


def _pod(container=None, **spec):
    pod = {"spec": {"containers": [{"name": "a", "image": "reg.test/a:1", **(container or {})}], **spec}}
    set_defaults(pod)
    again = copy.deepcopy(pod)
    set_defaults(again)
    assert again == pod
    return pod["spec"]


def _container(**fields):
    return _pod(fields)["containers"][0]


def test_the_pod_itself():
    spec = _pod()
    del spec["containers"]
    assert spec == {
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "terminationGracePeriodSeconds": 30,
        "enableServiceLinks": True,
        "schedulerName": "default-scheduler",
        "securityContext": {},
    }


def test_the_container_itself():
    assert _container() == {
        "name": "a",
        "image": "reg.test/a:1",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"restartPolicy": "Never"}, {"restartPolicy": "Never"}),
        ({"terminationGracePeriodSeconds": 0}, {"terminationGracePeriodSeconds": 0}),
        ({"terminationGracePeriodSeconds": -1}, {"terminationGracePeriodSeconds": 1}),
        ({"enableServiceLinks": False}, {"enableServiceLinks": False}),
        ({"securityContext": {"runAsUser": 0}}, {"securityContext": {"runAsUser": 0}}),
        ({"dnsPolicy": ""}, {"dnsPolicy": "ClusterFirst"}),
        ({"serviceAccount": "x"}, {"serviceAccount": "x", "serviceAccountName": "x"}),
    ],
)
def test_what_is_given_stays_and_an_empty_word_counts_as_absent(given, kept):
    assert kept.items() <= _pod(**given).items()


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"), ("busybox:latest", "Always"), ("busybox:1", "IfNotPresent"),
        ("reg.test:5000/busybox", "Always"), ("reg.test:5000/busybox:1", "IfNotPresent"),
        ("busybox@sha256:" + "a" * 64, "IfNotPresent"), ("busybox:latest@sha256:" + "a" * 64, "Always"),
        ("busybox:1@sha256:" + "a" * 64, "IfNotPresent"), ("", "Always"),
    ],
)  # fmt: skip
def test_the_pull_policy_follows_tag_and_digest(image, policy):
    assert default_pull_policy(image) == policy


def test_ports_are_tcp_and_on_the_hosts_network_they_are_host_ports():
    port = {"containerPort": 80}
    assert _container(ports=[port])["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    spec = _pod({"ports": [{"containerPort": 80}]}, hostNetwork=True)
    assert spec["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP", "hostPort": 80}]


def test_a_missing_request_is_the_limit_and_numbers_become_quantities():
    resources = _container(resources={"limits": {"cpu": 0.5, "memory": 1024}, "requests": {"cpu": "10m"}})["resources"]
    assert resources == {"limits": {"cpu": "0.5", "memory": "1024"}, "requests": {"cpu": "10m", "memory": "1024"}}


CONTAINER = {"resources": {"limits": {"cpu": "500m", "hugepages-2Mi": "2Mi"}, "requests": {"memory": "1Gi"}}}


@pytest.mark.parametrize(
    ("container", "given", "whole"),
    [
        ({}, {}, {}),
        ({}, {"limits": {"cpu": 2}}, {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}),
        ({}, {"requests": {"cpu": 0.5}}, {"requests": {"cpu": "0.5"}}),
        (
            CONTAINER,
            {"limits": {"cpu": "2", "memory": "4Gi"}},
            {
                "limits": {"cpu": "2", "memory": "4Gi", "hugepages-2Mi": "2097152"},
                "requests": {"cpu": "500m", "memory": "1073741824", "hugepages-2Mi": "2097152"},
            },
        ),
        (CONTAINER, {"requests": {"hugepages-2Mi": "4Mi"}}, {"requests": {"hugepages-2Mi": "4Mi"}}),
        ({"resources": {"requests": {"cpu": "x"}}}, {"limits": {"cpu": "2"}}, {"limits": {"cpu": "2"}}),
    ],
)
def test_what_the_pods_resources_leave_open_follows_its_containers_then_its_limits(container, given, whole):
    assert _pod(container, resources=given)["resources"] == whole


def test_cpu_and_memory_resize_in_place_unless_said_otherwise():
    policy = {"resourceName": "cpu", "restartPolicy": "RestartContainer"}
    container = _container(resources={"limits": {"cpu": "1", "memory": "1Gi"}}, resizePolicy=[policy])
    assert container["resizePolicy"] == [policy, {"resourceName": "memory", "restartPolicy": "NotRequired"}]


@pytest.mark.parametrize("probe", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_probes(probe):
    numbers = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
    get = _container(**{probe: {"httpGet": {"port": 80}, "periodSeconds": 0}})[probe]
    assert get == {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, **numbers}
    grpc = _container(**{probe: {"grpc": {"port": 80}, "timeoutSeconds": 4}})[probe]
    assert grpc == {"grpc": {"port": 80, "service": ""}, **numbers, "timeoutSeconds": 4}


def test_hooks_and_env_references():
    container = _container(
        lifecycle={"preStop": {"httpGet": {"port": 1}}, "stopSignal": "SIGINT"},
        env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, {"name": "B", "value": "b"}],
    )
    assert container["lifecycle"]["preStop"] == {"httpGet": {"port": 1, "path": "/", "scheme": "HTTP"}}
    assert container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"


@pytest.mark.parametrize(
    ("volume", "whole"),
    [
        ({}, {"emptyDir": {}}),
        ({"emptyDir": {"sizeLimit": 5}}, {"emptyDir": {"sizeLimit": "5"}}),
        ({"hostPath": {"path": "/x"}}, {"hostPath": {"path": "/x", "type": ""}}),
        ({"configMap": {"name": "c"}}, {"configMap": {"name": "c", "defaultMode": 420}}),
        ({"secret": {}}, {"secret": {"defaultMode": 420}}),
        ({"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "f"}}]}},
         {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "f", "apiVersion": "v1"}}],
                          "defaultMode": 420}}),
        ({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
         {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}],
                        "defaultMode": 420}}),
        ({"image": {"reference": "a:1"}}, {"image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}}),
    ],
)  # fmt: skip
def test_volumes(volume, whole):
    assert _pod(volumes=[{"name": "v", **volume}])["volumes"] == [{"name": "v", **whole}]
