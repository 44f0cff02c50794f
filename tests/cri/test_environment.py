"""Environment, command and args (kubelet behaviour, section 3.12; case SPEC-1)."""

from dataclasses import replace

import pytest
from tests.cri.conftest import HOST, container_of
from tests.kit.objects import config_map, look_in, secret
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
        ({"resource": "limits.ephemeral-storage", "divisor": "1Gi"}, "50"),
        ({"resource": "requests.memory", "divisor": "1M"}, "68"),
        ({"resource": "limits.hugepages-2Mi", "divisor": "1Mi"}, "4"),
        ({"resource": "requests.hugepages-2Mi"}, str(4 << 20)),
        ({"resource": "limits.hugepages-1Gi"}, "0"),
        ({"resource": "requests.cpu", "containerName": "first"}, "1"),
    ],
)
def test_resources_become_variables_rounded_up(reference, value):
    own = {
        "name": "app",
        "image": "a:1",
        "resources": {
            "limits": {"cpu": "1500m", "memory": "64Mi", "hugepages-2Mi": "4Mi"},
            "requests": {"cpu": "250m"},
        },
        "env": [{"name": "V", "valueFrom": {"resourceFieldRef": reference}}],
    }
    first = {"name": "first", "image": "a:1", "resources": {"requests": {"cpu": "1m"}}}
    made = pod({"containers": [own, {"name": "bare", "image": "a:1"}], "initContainers": [first]})
    host = replace(HOST, storage_bytes=(49 << 30) + 1)
    assert _env(container_of(made, host=host)) == [("V", value)]


@pytest.mark.parametrize(
    ("resource", "value"),
    [("limits.cpu", "2"), ("limits.memory", str(1 << 20)), ("requests.cpu", "0"), ("limits.hugepages-2Mi", "0")],
)
def test_a_limit_that_a_container_lacks_is_the_pods(resource, value):
    env = [{"name": "V", "valueFrom": {"resourceFieldRef": {"resource": resource}}}]
    whole = {"limits": {"cpu": "2", "memory": "1Mi", "hugepages-2Mi": "2Mi"}}
    assert _env(container_of(pod_with({"resources": whole}, env=env))) == [("V", value)]


def _from_file(name, key, **more):
    reference = {"volumeName": "v", "path": "a.env", "key": key, **more}
    return {"name": name, "valueFrom": {"fileKeyRef": reference}}


def test_variables_out_of_a_file_stand_in_order_and_can_be_referred_to():
    asked = []

    def read(volume, path):
        asked.append((volume, path))
        return b"A='x $(B)'\n"

    env = [
        {"name": "C", "value": "old"},
        _from_file("A", "A"),
        {"name": "B", "value": "<$(A)>"},
        _from_file("C", "NO", optional=True),
        _from_file("D", "NO", optional=True),
    ]
    config = container_of(pod_with(env=env), read_file=read)
    assert _env(config) == [("C", "old"), ("A", "x $(B)"), ("B", "<x $(B)>")]
    assert set(asked) == {("v", "a.env")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"B='x'\n", 'environment variable key "A" not found in file "a.env"'),
        (b"A=''\n", 'environment variable key "A" not found in file "a.env"'),
        (b"A=x\n", "couldn't parse env file: a.env: line 1: value must be enclosed in single quotes"),
        (b"\xff", "couldn't parse env file: a.env: 'utf-8' codec"),
        (None, "couldn't parse env file: a.env: No such file"),
    ],
)
def test_a_variable_that_its_file_does_not_give_is_a_config_error(text, words):
    def read(_volume, _path):
        if text is None:
            raise FileNotFoundError(2, "No such file")
        return text

    with pytest.raises(ContainerConfigError) as refused:
        container_of(pod_with(env=[_from_file("A", "A")]), read_file=read)
    assert str(refused.value).startswith("env A of container app: ")
    assert words in refused.value.reason


def test_a_file_of_a_volume_that_nobody_made_ready_is_a_config_error():
    with pytest.raises(ContainerConfigError, match='cannot find the volume "v" referenced by FileKeyRef'):
        container_of(pod_with(env=[_from_file("A", "A")]))


OBJECTS = look_in(
    config_map("c", {"A": "1", "B": "$(A)", "my.key": "x"}, "prod"),
    secret("s", {"A": b"2", "PW": b"geheim"}, "prod"),
    secret("bad", {"K": b"\xff"}, "prod"),
)


def _whole(kind, name, **more):
    return {kind: {"name": name, **({"optional": True} if more.pop("optional", False) else {})}, **more}


def _key(kind, name, key, **more):
    return {"name": "V", "valueFrom": {kind: {"name": name, "key": key, **more}}}


def test_whole_objects_come_first_in_listed_order_with_their_prefix_and_are_taken_as_they_stand():
    made = pod_with(
        envFrom=[
            _whole("configMapRef", "c"),
            _whole("secretRef", "s"),
            _whole("secretRef", "s", prefix="DB_"),
            _whole("configMapRef", "no", optional=True),
            _whole("secretRef", "no", optional=True),
        ],
        env=[{"name": "URL", "value": "$(DB_PW)@$(A)"}, {"name": "PW", "value": "own"}],
    )
    config = container_of(made, look=OBJECTS, services=[("A", "theirs"), ("SVC", "$(PW)")])
    assert dict(_env(config)) == {
        "A": "2", "B": "$(A)", "my.key": "x", "PW": "own", "DB_A": "2", "DB_PW": "geheim",
        "URL": "geheim@2", "SVC": "$(PW)",
    }  # fmt: skip


def test_single_keys_become_variables_and_optional_ones_are_left_out():
    env = [
        _key("configMapKeyRef", "c", "A"),
        {**_key("secretKeyRef", "s", "PW"), "name": "W"},
        {**_key("secretKeyRef", "s", "no", optional=True), "name": "X"},
        {**_key("configMapKeyRef", "no", "A", optional=True), "name": "Y"},
    ]
    assert _env(container_of(pod_with(env=env), look=OBJECTS)) == [("V", "1"), ("W", "geheim")]


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({"env": [_key("configMapKeyRef", "c", "K")]}, "couldn't find key K in ConfigMap prod/c"),
        ({"env": [_key("secretKeyRef", "s", "K")]}, "couldn't find key K in Secret prod/s"),
        ({"env": [_key("configMapKeyRef", "no", "K")]}, 'configmap "no" not found'),
        ({"env": [_key("secretKeyRef", "no", "K")]}, 'secret "no" not found'),
        ({"envFrom": [_whole("configMapRef", "no")]}, 'configmap "no" not found'),
        ({"envFrom": [_whole("secretRef", "no")]}, 'secret "no" not found'),
    ],
)
def test_what_an_object_lacks_is_told_in_the_kubelets_words(container, words):
    with pytest.raises(ContainerConfigError) as refused:
        container_of(pod_with(**container), look=OBJECTS)
    assert refused.value.words == words


def test_a_secret_that_is_no_text_is_a_config_error_that_does_not_tell_it():
    with pytest.raises(ContainerConfigError, match="is no UTF-8 text") as refused:
        container_of(pod_with(env=[_key("secretKeyRef", "bad", "K")]), look=OBJECTS)
    assert "xff" not in str(refused.value)


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
