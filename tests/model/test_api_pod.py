"""API objects as bodies for the agent: what changes, what does not, and whatever else a server may hold."""

import copy

import pytest

from podherd.errors import ManifestError
from podherd.model import keys
from podherd.model.api_pod import content_of, converted, identity_of, status_of
from podherd.model.view import pod_of
from podherd.wire import codec

SEEN = "2026-01-01T00:00:00.000000Z"


def _pod(**spec):
    return {
        "metadata": {
            "uid": "0b5f9c1e-0000-4000-8000-000000000001", "namespace": "default", "name": "web",
            "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1,
            "labels": {"app": "web"}, "managedFields": [{"manager": "kubectl"}],
            "annotations": {"a": "b", keys.CONFIG_SOURCE: "file"},
        },
        "spec": {
            "nodeName": "n1", "containers": [{"name": "c", "image": "x:1"}],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}], **spec,
        },
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]},
    }  # fmt: skip


def _changed(change):
    pod = copy.deepcopy(_pod())
    change(pod)
    return pod


def _refusal(pod):
    body, refused, message = converted(pod, SEEN)
    assert pod_of(body).uid == pod["metadata"]["uid"]
    codec.pack(body)
    return f"{refused}: {message}" if refused else ""


def test_the_body_is_marked_defaulted_and_without_managed_fields():
    item = _pod()
    before = copy.deepcopy(item)
    body, refused, _ = converted(item, SEEN)
    assert refused == ""
    pod = pod_of(body)
    assert (pod.source, pod.grace_s, pod.restart_policy) == ("api", 30, "Always")
    assert body["metadata"]["annotations"] == {"a": "b", keys.CONFIG_SOURCE: "api", keys.CONFIG_SEEN: SEEN}
    assert "managedFields" not in body["metadata"]
    assert body["status"] == item["status"]
    assert item == before


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod["spec"]["containers"][0].update(image="x:2"),
        lambda pod: pod["metadata"]["labels"].update(app="other"),
        lambda pod: pod["metadata"]["annotations"].update(a="c"),
        lambda pod: pod["metadata"].update(deletionTimestamp="2026-01-01T00:00:09Z"),
        lambda pod: pod["metadata"].update(deletionGracePeriodSeconds=5),
        lambda pod: pod["metadata"].update(generation=2),
        lambda pod: pod["status"]["conditions"].append({"type": "example.com/gate", "status": "True"}),
        lambda pod: pod["status"].update(phase="Failed"),
    ],
)
def test_a_real_change_has_another_content(change):
    assert content_of(_changed(change)) != content_of(_pod())


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod["metadata"].update(resourceVersion="8", managedFields=[]),
        lambda pod: pod["status"].update(phase="Running", startTime="2026-01-01T00:00:00Z", podIP="10.0.0.1"),
        lambda pod: pod["status"]["conditions"].append({"type": "Ready", "status": "True"}),
        lambda pod: pod["status"].update(containerStatuses=[{"name": "c", "ready": True}]),
    ],
)
def test_an_echo_of_our_own_status_has_the_same_content(change):
    assert content_of(_changed(change)) == content_of(_pod())


def test_who_it_is():
    mirror = _changed(lambda pod: pod["metadata"]["annotations"].update({keys.CONFIG_MIRROR: "h"}))
    assert identity_of(_pod())[1:] == ("default", "web", "7", False, "")
    assert identity_of(mirror).mirror_of == "h"
    assert identity_of(_changed(lambda pod: pod["metadata"]["annotations"].update({keys.CONFIG_MIRROR: ""}))).mirror_of


@pytest.mark.parametrize(
    "metadata",
    [None, [], {}, {"uid": "u", "name": "web"}, {"uid": "../../etc", "namespace": "default", "name": "web"},
     {"uid": "u", "namespace": "a/b", "name": "web"}, {"uid": "u", "namespace": "default", "name": "w\0b"},
     {"uid": 7, "namespace": "default", "name": "web"}],
)  # fmt: skip
def test_what_has_no_usable_name_is_no_pod(metadata):
    with pytest.raises(ManifestError, match="metadata"):
        identity_of({"metadata": metadata})


@pytest.mark.parametrize("kind", ["configMap", "secret", "persistentVolumeClaim", "csi", "ephemeral"])
def test_volumes_that_need_an_api_server_are_served(kind):
    value = {
        "configMap": {"name": "m"}, "secret": {"secretName": "s"}, "persistentVolumeClaim": {"claimName": "c"},
        "csi": {"driver": "d"},
        "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {}}}},
    }  # fmt: skip
    assert _refusal(_pod(volumes=[{"name": "v", kind: value[kind]}])) == ""


def test_features_that_are_lacking_are_refused_by_field():
    said = _refusal(_pod(volumes=[{"name": "v", "nfs": {"server": "s", "path": "/"}}]))
    assert said == "PodFeatureUnsupported: spec.volumes[0].nfs: not supported yet: nfs volumes"
    said = _refusal(_pod(volumes=[{"name": "v", "iscsi": {"targetPortal": "s", "iqn": "i", "lun": 0}}]))
    assert said.startswith("PodFeatureUnsupported: spec.volumes[0].iscsi")
    assert _refusal(_pod(os={"name": "windows"})) == ""


def test_fields_that_this_version_does_not_know_are_no_trouble():
    assert _refusal(_pod(newField={"deep": [1]})) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda pod: pod.pop("spec"), "the pod cannot be read"),
        (lambda pod: pod.update(spec=None), "the pod cannot be read"),
        (lambda pod: pod.update(spec=[1]), "the pod cannot be read: pod: spec: must be a mapping"),
        (lambda pod: pod["spec"].update(containers=[]), "spec.containers: Required value"),
        (lambda pod: pod["spec"].update(containers=None), "the pod cannot be read: pod: spec.containers: Required"),
        (lambda pod: pod["spec"].update(containers=[{"image": "x"}]), "the pod cannot be read"),
        (lambda pod: pod["spec"].update(containers=[{"name": "c"}]), "the pod cannot be read"),
        (lambda pod: pod["spec"]["containers"][0].update(name="../c"), "spec.containers[0].name: Invalid"),
        (lambda pod: pod["spec"].update(volumes=[{"name": "../v"}]), "spec.volumes[0].name: Invalid value"),
        (lambda pod: pod["spec"]["containers"][0].update(resources={"requests": {"cpu": "lots"}}), "the pod cannot be"),
        (lambda pod: pod["spec"].update(overhead={"cpu": "-1"}), "the pod cannot be read"),
        (lambda pod: pod["spec"].update(terminationGracePeriodSeconds="soon"), "the pod cannot be read"),
        (lambda pod: pod["metadata"].update(labels={"a": 1}), "the pod cannot be read"),
        (lambda pod: pod["spec"].update(containers=[{"name": "\udcff", "image": "x"}]), "the pod cannot be read"),
    ],
)  # fmt: skip
def test_a_pod_that_makes_no_sense_is_refused_with_the_reason(change, said):
    pod = _changed(change)
    assert isinstance(content_of(pod), str)
    assert _refusal(pod).startswith(f"UnexpectedAdmissionError: {said}")


def test_nesting_without_end_is_refused():
    deep = {}
    for _ in range(400):
        deep = {"a": deep}
    pod = _pod(newField=deep)
    assert len(content_of(pod)) == 32
    assert _refusal(pod).startswith("UnexpectedAdmissionError")


def test_large_annotations_and_environments_are_taken():
    pod = _pod(
        containers=[{"name": "c", "image": "x", "env": [{"name": f"E{n}", "value": "x" * 50} for n in range(5000)]}]
    )
    pod["metadata"]["annotations"]["big"] = "x" * 2**20
    assert _refusal(pod) == ""


def test_a_status_of_any_shape_is_cut_to_what_can_be_read():
    ready = {"type": "Ready", "status": "True"}
    counted = [{"name": "i", "restartCount": 1e308}, {"name": "j", "restartCount": 2}]
    status = {"phase": 7, "conditions": [1, ready, {"type": "Initialized"}, {}], "containerStatuses": {"a": 1},
              "podIP": None, "initContainerStatuses": [*counted, "x"], "startTime": "t",
              "message": "\udcff"}  # fmt: skip
    assert status_of({"status": status}) == {
        "conditions": [ready], "containerStatuses": [], "initContainerStatuses": [{"name": "i"}, counted[1]],
        "startTime": "t",
    }  # fmt: skip
    assert status_of({"status": "x"}) == {}
    assert status_of({}) == {}
