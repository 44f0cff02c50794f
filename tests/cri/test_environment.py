"""Environment, command and args (kubelet behaviour, section 3.12; case SPEC-1)."""

import pytest
from tests.cri.conftest import HOST, container_of
from tests.kit.pods import pod, pod_with

from podherd.errors import ContainerConfigError


def _env(config):
    return [(entry.key, entry.value) for entry in config.envs]


def test_spec_1_order_escapes_undefined_names_and_unclosed_brackets():
    env = {"A": "x", "B": "$(A)-$(C)", "C": "$$(A)", "D": "$$", "E": "$(NOPE)", "F": "$(A", "G": "100%$", "H": "$(C)"}
    made = pod_with(
        env=[{"name": name, "value": value} for name, value in env.items()],
        args=["$(B)", "$$$$", "$A ${A}"],
        command=["$(D)", "$(H)"],
    )
    config = container_of(made)
    assert _env(config) == [
        ("A", "x"), ("B", "x-$(C)"), ("C", "$(A)"), ("D", "$"),
        ("E", "$(NOPE)"), ("F", "$(A"), ("G", "100%$"), ("H", "$(A)"),
    ]  # fmt: skip
    assert list(config.args) == ["x-$(C)", "$$", "$A ${A}"]
    assert list(config.command) == ["$", "$(A)"]


def test_a_name_given_twice_has_its_last_value_and_may_refer_to_the_first():
    config = container_of(pod_with(env=[{"name": "P", "value": "/a"}, {"name": "P", "value": "$(P):/b"}]))
    assert _env(config) == [("P", "/a:/b")]


def test_service_variables_rank_lowest_and_can_be_referred_to():
    made = pod_with(env=[{"name": "URL", "value": "http://$(DB_HOST)"}, {"name": "OWN", "value": "mine"}])
    config = container_of(made, services=[("DB_HOST", "10.0.0.9"), ("OWN", "theirs")])
    assert _env(config) == [("URL", "http://10.0.0.9"), ("OWN", "mine"), ("DB_HOST", "10.0.0.9")]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "web"),
        ("metadata.namespace", "prod"),
        ("metadata.uid", "uid-1"),
        ("metadata.labels['app']", "shop"),
        ("metadata.labels['absent']", ""),
        ("metadata.annotations['a.test/n']", "7"),
        ("spec.nodeName", "n1"),
        ("spec.serviceAccountName", ""),
        ("status.podIP", "10.1.0.5"),
        ("status.podIPs", "10.1.0.5,fd00::5"),
        ("status.hostIP", "192.0.2.10"),
        ("status.hostIPs", "192.0.2.10,2001:db8::10"),
    ],
)
def test_fields_of_the_pod_become_variables(path, value):
    container = {"name": "app", "image": "a:1", "env": [{"name": "V", "valueFrom": {"fieldRef": {"fieldPath": path}}}]}
    made = pod({"containers": [container], "nodeName": "n1"}, labels={"app": "shop"}, annotations={"a.test/n": "7"})
    assert _env(container_of(made, pod_ips=("10.1.0.5", "fd00::5"))) == [("V", value)]


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"resource": "requests.cpu", "divisor": "1m"}, "250"),
        ({"resource": "limits.memory"}, str(64 << 20)),
        ({"resource": "limits.memory", "divisor": "1Mi"}, "64"),
        ({"resource": "limits.memory", "divisor": "0"}, str(64 << 20)),
        ({"resource": "requests.ephemeral-storage"}, "0"),
        ({"resource": "limits.cpu", "containerName": "bare"}, "4"),
        ({"resource": "limits.memory", "containerName": "bare"}, str(HOST.memory_bytes)),
    ],
)
def test_resources_become_variables_rounded_up(reference, value):
    own = {
        "name": "app",
        "image": "a:1",
        "resources": {"limits": {"cpu": "1500m", "memory": "64Mi"}, "requests": {"cpu": "250m"}},
        "env": [{"name": "V", "valueFrom": {"resourceFieldRef": reference}}],
    }
    made = pod({"containers": [own, {"name": "bare", "image": "a:1"}]})
    assert _env(container_of(made)) == [("V", value)]


@pytest.mark.parametrize(
    "container",
    [
        {"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}]},
        {"env": [{"name": "V", "valueFrom": {"secretKeyRef": {"name": "c", "key": "k"}}}]},
        {"env": [{"name": "V", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}]},
        {"envFrom": [{"secretRef": {"name": "c"}}]},
        {"env": [{"name": "V", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "no"}}}]},
    ],
)
def test_what_cannot_be_followed_is_a_config_error_that_names_the_field(container):
    with pytest.raises(ContainerConfigError) as error:
        container_of(pod_with(**container))
    assert error.value.thing
