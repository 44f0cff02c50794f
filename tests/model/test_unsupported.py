"""The table of what this version does not do: complete, and acting as it says."""

import pytest

from podherd.model import schema
from podherd.model.unsupported import TABLE, Effect, findings

DONE_VOLUMES = {
    "configMap",
    "secret",
    "csi",
    "ephemeral",
    "persistentVolumeClaim",
    "name",
    "emptyDir",
    "hostPath",
    "downwardAPI",
    "projected",
    "image",
}


def _pod(container=None, **spec):
    return {
        "metadata": {"name": "x"},
        "spec": {"containers": [{"name": "a", "image": "x", **(container or {})}], **spec},
    }


def _paths(pod):
    refused, warnings = findings(pod)
    return [problem.path for problem in refused], [warning.partition(": ")[0] for warning in warnings]


def test_a_plain_pod_uses_none_of_it():
    assert findings(_pod({"resources": {"limits": {"cpu": "1", "hugepages-2Mi": "2Mi"}}}, hostUsers=True)) == ([], [])


def test_every_volume_kind_of_the_api_is_either_done_or_in_the_table():
    volume = schema._definitions()["io.k8s.api.core.v1.Volume"]["properties"]
    listed = {
        row.path.rpartition(".")[2]
        for row in TABLE
        if row.path.startswith("spec.volumes[].") and row.path.count(".") == 2
    }
    assert set(volume) == DONE_VOLUMES | listed
    assert not DONE_VOLUMES & listed


def test_every_row_names_a_field_of_the_api():
    for row in TABLE:
        path = [part for word in row.path.split(".") for part in ([word[:-2], 0] if word.endswith("[]") else [word])]
        assert path[-1] in schema._fields_at(path[:-1]), row.path


@pytest.mark.parametrize(
    ("pod", "path"),
    [
        (_pod({"volumeDevices": [{"name": "v"}]}), "spec.containers[0].volumeDevices"),
        (_pod(initContainers=[{"volumeDevices": [{"name": "v"}]}]), "spec.initContainers[0].volumeDevices"),
        (_pod(volumes=[{"name": "v", "nfs": {}}]), "spec.volumes[0].nfs"),
        (_pod(volumes=[{"name": "u", "emptyDir": {}}, {"name": "v", "nfs": {}}]), "spec.volumes[1].nfs"),
        (_pod(os={"name": "windows"}), "spec.os.name"),
    ],
)  # fmt: skip
def test_what_would_behave_wrongly_is_refused_with_its_path(pod, path):
    assert _paths(pod) == ([path], [])
    assert "not supported yet" in findings(pod)[0][0].reason


@pytest.mark.parametrize(
    ("pod", "path"),
    [
        (_pod({"livenessProbe": {}}), "spec.containers[0].livenessProbe"),
        (_pod({"resources": {"limits": {"a.b/gpu": "1"}}}), "spec.containers[0].resources.limits"),
        (_pod(volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}]), "spec.volumes[0].emptyDir.sizeLimit"),
        (_pod(topologySpreadConstraints=[{}]), "spec.topologySpreadConstraints"),
    ],
)  # fmt: skip
def test_what_is_right_without_it_is_warned_of_once(pod, path):
    assert _paths(pod) == ([], [path])


def test_what_does_work_is_not_in_the_way():
    pod = _pod(
        {"lifecycle": {"stopSignal": "SIGINT"}, "volumeMounts": [{"name": "v", "mountPropagation": "HostToContainer"}]},
        volumes=[{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}],
        os={"name": "linux"},
        nodeSelector={"a": "b"},
        affinity={"nodeAffinity": {}},
        hostUsers=False,
        activeDeadlineSeconds=5,
        resources={"limits": {"cpu": "1"}},
        initContainers=[{"name": "i", "restartPolicy": "Always"}],
    )
    assert findings(pod) == ([], [])


def test_effects_are_told_apart():
    assert {row.effect for row in TABLE} == {Effect.REFUSE, Effect.WARN}
