"""Manifests to defaulted pods: the whole way of one file or one answer."""

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from podherd.errors import ManifestError
from podherd.model.parse import manifest_of, manifests_of, pod_of
from podherd.model.pod import ContainerKind

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
  - name: web
    image: reg.test/web:1
    ports:
    - containerPort: 80
    resources:
      limits: {memory: 32Mi}
"""


def _refusal(text, parse=manifest_of):
    with pytest.raises(ManifestError) as error:
        parse(text.encode(), "/m/web.yaml")
    assert error.value.thing == "/m/web.yaml"
    return error.value


def test_a_manifest_becomes_a_defaulted_pod_in_yaml_and_json_alike():
    from_yaml = manifest_of(POD.encode(), "f")
    from_json = manifest_of(orjson.dumps(yaml.safe_load(POD)), "f")
    assert from_yaml == from_json
    assert from_yaml.warnings == ()
    assert from_yaml.pod["spec"]["restartPolicy"] == "Always"


def test_status_is_ignored_whatever_it_says():
    assert "status" not in manifest_of((POD + "status: {phase: 7, nonsense: [1]}\n").encode(), "f").pod


@pytest.mark.parametrize(
    ("old", "new", "reason", "mend"),
    [
        ("image:", "iamge:", "spec.containers[0].iamge: unknown field", "did you mean `image`?"),
        ("    ports:", "    port:", "spec.containers[0].port: unknown field", "did you mean `ports`?"),
        ("image: reg.test/web:1", "image: 7", "spec.containers[0].image: must be a string, not a number 7", '"7"'),
        ("containerPort: 80", "containerPort: http", "spec.containers[0].ports[0].containerPort: must be a whole", ""),
        ("{app: web}", "{app: yes}", "metadata.labels.app: must be a string, not true or false", '"true"'),
        ("  containers:", "  env: []\n  restartpolicy: Never\n  containers:", "spec.restartpolicy: unknown field",
         "did you mean `restartPolicy`?"),
        ("  containers:", "  env: [{name: A}]\n  containers:", "spec.env: unknown field",
         "`env` is a field of spec.containers[]"),
        ("kind: Pod", "kind: Deployment", "kind: only v1 Pods can be static pods (kind: Deployment)", "write a Pod;"),
        ("kind: Pod", "Kind: Pod", "kind: Required value", "rename `Kind` to `kind`"),
        ("apiVersion: v1", "apiVersion: apps/v1", "apiVersion: must be v1, not 'apps/v1'", "write apiVersion: v1"),
        ("apiVersion: v1\n", "", "apiVersion: Required value", "write apiVersion: v1"),
        ("name: web\n  labels", "labels", "metadata.name: Required value", ""),
        ("    image: reg.test/web:1\n", "", "spec.containers[0].image: Required value", ""),
        ("containerPort: 80", "containerPort: 80\n      hostPort: 4294967296", "4294967296 is greater than", ""),
        ("32Mi", "32MB", 'spec.containers[0].resources.limits[memory]: Invalid value: "32MB"', "suffixes"),
    ],
)  # fmt: skip
def test_a_slip_is_named_with_file_field_reason_and_mend(old, new, reason, mend):
    assert old in POD
    error = _refusal(POD.replace(old, new, 1))
    assert reason in error.reason
    assert mend in error.mend


@pytest.mark.parametrize("text", ["7", "[]", "[1]", "text", "kind: Pod\napiVersion: v1", "kind: [Pod]\napiVersion: v1"])
def test_what_is_no_pod_at_all_is_refused(text):
    _refusal(text)


def test_an_unknown_field_hides_nothing_else_and_each_slip_has_its_own_mend():
    text = POD.replace("    ports:", '    command: "30"\n    ports:').replace("containerPort: 80", "name: 8080")
    error = _refusal(text)
    assert 'spec.containers[0].command: must be a list, not a string "30"; ' in error.reason
    assert 'ports[0].name: must be a string, not a number 8080 (write it in quotes: "8080")' in error.reason
    assert error.mend == ""
    error = _refusal(POD.replace("  containers:", "  lables: {}\n  restartPolicy: Sometimes\n  containers:"))
    assert error.reason.startswith("spec.lables: unknown field (")
    assert 'spec.restartPolicy: Unsupported value: "Sometimes"' in error.reason
    error = _refusal(
        POD.replace("  containers:", "  wrong: 1\n  volumes: [{name: a, secret: {secretName: s}}]\n  containers:")
    )
    assert "spec.wrong: unknown field" in error.reason
    assert "secret" in error.reason
    assert _refusal(POD.replace("image:", "iamge:")).reason == "spec.containers[0].iamge: unknown field"


def test_several_slips_are_named_in_one_error():
    error = _refusal(POD.replace("image:", "iamge:").replace("labels:", "lables:"))
    assert "metadata.lables" in error.reason
    assert "spec.containers[0].iamge" in error.reason
    many = "".join(f"  wrong{n}: 1\n" for n in range(9))
    assert "spec.wrong8" in _refusal(POD + many).reason


def test_a_url_may_answer_with_a_pod_or_a_pod_list():
    item = yaml.safe_load(POD)
    bare = {key: item[key] for key in ("metadata", "spec")}
    answer = {"apiVersion": "v1", "kind": "PodList", "items": [item, bare]}
    assert len(manifests_of(orjson.dumps(answer), "u")) == 2
    assert len(manifests_of(POD.encode(), "u")) == 1
    assert manifests_of(b"{apiVersion: v1, kind: PodList, items: []}", "u") == []
    assert "kind: must be Pod," in _refusal(orjson.dumps(answer).decode()).reason


@pytest.mark.parametrize("items", ["{}", "7", "[7]", "[{}]", "[{kind: Node}]"])
def test_a_pod_list_with_a_bad_item_is_refused_whole(items):
    with pytest.raises(ManifestError):
        manifests_of(f"{{apiVersion: v1, kind: PodList, items: {items}}}".encode(), "u")


def test_the_typed_view_reads_what_decisions_need():
    body = manifest_of(POD.encode(), "f").pod
    body["metadata"] |= {"uid": "u1", "namespace": "ns", "annotations": {"kubernetes.io/config.source": "file"}}
    body["spec"]["initContainers"] = [
        {"name": "a", "image": "x", "imagePullPolicy": "Always"},
        {"name": "b", "image": "x", "imagePullPolicy": "Always", "restartPolicy": "Always"},
    ]
    pod = pod_of(body)
    assert (pod.key, pod.uid, pod.source, pod.restart_policy, pod.grace_s) == ("ns/web", "u1", "file", "Always", 30)
    assert [one.kind for one in pod.init_containers] == [ContainerKind.INIT, ContainerKind.SIDECAR]
    assert pod.containers[0].image_pull_policy == "IfNotPresent"
    assert pod.body is body


@pytest.mark.parametrize(
    "body", [{}, {"metadata": {}}, {"metadata": {"uid": "u"}, "spec": {}}, {"metadata": 7, "spec": 7}]
)
def test_the_typed_view_of_a_body_that_no_source_made_is_an_error(body):
    with pytest.raises(ManifestError):
        pod_of(body)


_WORDS = st.sampled_from(
    ["v1", "Pod", "web", "", "a/b", 0, 1, -1, 80, 2**40, 1.5, True, None, "Always", "64Mi", "x" * 300, "é", "..", "/"]
)
_FIELDS = st.sampled_from([
    "name", "image", "ports", "containerPort", "env", "value", "valueFrom", "resources", "limits", "memory",
    "volumeMounts", "mountPath", "livenessProbe", "httpGet", "port", "securityContext", "capabilities", "lifecycle",
    "emptyDir", "hostPath", "path", "projected", "sources", "command", "subPath", "fieldRef", "fieldPath",
])  # fmt: skip
_TREES = st.recursive(
    _WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=4), max_leaves=12
)


@settings(max_examples=400)
@given(
    container=st.dictionaries(_FIELDS, _TREES, max_size=5),
    spec=st.dictionaries(
        st.sampled_from(["volumes", "restartPolicy", "hostNetwork", "securityContext", "tolerations", "dnsConfig"]),
        _TREES,
        max_size=3,
    ),
    metadata=st.dictionaries(st.sampled_from(["labels", "annotations", "namespace", "uid"]), _TREES, max_size=2),
)
def test_any_shape_of_pod_is_a_pod_or_a_manifest_error(container, spec, metadata):
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", **metadata},
        "spec": {"containers": [{"name": "web", "image": "x", **container}], **spec},
    }
    try:
        outcome = manifest_of(orjson.dumps(pod), "f").pod["spec"]["containers"]
    except ManifestError as error:
        outcome = error.reason
    assert outcome


@given(st.binary(max_size=100))
def test_any_bytes_are_no_pod(data):
    with pytest.raises(ManifestError):
        manifests_of(data, "u")
