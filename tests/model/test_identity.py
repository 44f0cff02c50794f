"""Who a static pod is."""

import copy

import pytest

from podherd.model.identity import make_static
from podherd.model.parse import manifest_of

POD = b"{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: 'x:1'}]}}"
SPELLED_OUT = b"""\
kind: Pod   # the same pod in other words
apiVersion: v1
metadata:
  name: web
  labels:
  creationTimestamp: null
spec:
  restartPolicy: Always
  containers:
  - image: x:1
    name: a
    ports: []
    imagePullPolicy: IfNotPresent
status: {}
"""
UID = "e0e812ca3fac9a7a77f462ca4e44dafe"
"""Of the first release: a change here restarts every static pod at the next update of podherd."""


def _static(data=POD, node="Node1", source="file", origin="file:/m/web.yaml", **metadata):
    pod = manifest_of(data, "f").pod
    pod["metadata"] |= metadata
    content = make_static(pod, node, source, origin)
    return pod, content


def test_name_namespace_node_and_marks():
    pod, content = _static()
    assert pod["metadata"] == {
        "name": "web-node1",
        "namespace": "default",
        "uid": content,
        "annotations": {"kubernetes.io/config.hash": content, "kubernetes.io/config.source": "file"},
    }
    assert pod["spec"]["nodeName"] == "Node1"
    assert pod["spec"]["tolerations"] == [{"operator": "Exists", "effect": "NoExecute"}]
    assert pod["status"] == {"phase": "Pending"}


def test_only_files_tolerate_everything():
    assert "tolerations" not in _static(source="http", origin="url:http://x/")[0]["spec"]


def test_the_uid_is_that_of_the_first_release():
    assert _static()[1] == UID


def test_the_uid_does_not_depend_on_how_the_manifest_is_written():
    assert _static(SPELLED_OUT)[1] == _static()[1]


@pytest.mark.parametrize("other", [
    {"data": POD.replace(b"x:1", b"x:2")},
    {"data": POD.replace(b"web", b"wep")},
    {"data": POD.replace(b"name: web", b"name: web, namespace: prod")},
    {"data": POD.replace(b"name: web", b"name: web, annotations: {a: b}")},
    {"node": "node2"},
    {"origin": "file:/m/web2.yaml"},
    {"origin": "url:/m/web.yaml"},
])  # fmt: skip
def test_every_change_of_pod_node_or_place_is_a_new_uid(other):
    assert _static(**other)[1] != _static()[1]


def test_a_given_uid_is_kept_and_its_content_still_tells_edits_apart():
    first, content = _static(uid="my-uid")
    second, other = _static(POD.replace(b"x:1", b"x:2"), uid="my-uid")
    assert first["metadata"]["uid"] == second["metadata"]["uid"] == "my-uid"
    assert first["metadata"]["annotations"]["kubernetes.io/config.hash"] == "my-uid"
    assert content != other


def test_a_manifest_saved_from_an_api_server_is_no_dying_mirror_pod():
    saved = {
        "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 3,
        "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5,
        "annotations": {"kubernetes.io/config.mirror": "x", "kubernetes.io/config.seen": "y", "mine": "z"},
    }  # fmt: skip
    pod, _ = _static(**copy.deepcopy(saved))
    assert set(pod["metadata"]) == {"name", "namespace", "uid", "annotations"}
    assert set(pod["metadata"]["annotations"]) == {"mine", "kubernetes.io/config.hash", "kubernetes.io/config.source"}
