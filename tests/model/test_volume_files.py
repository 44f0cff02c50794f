"""What a manifest may say of volumes that tell of the pod, of images, and of read-only mounts."""

from typing import Any

import orjson
import pytest

from podherd.errors import ManifestError
from podherd.model.parse import manifest_of

ITEM = {"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}


def accepted(volume: dict[str, Any], mount: dict[str, Any] | None = None) -> dict[str, Any]:
    """The defaulted volume of a manifest that has it."""
    mounts = [{"name": "v", "mountPath": "/v", **mount}] if mount is not None else []
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "containers": [{"name": "c", "image": "i:1", "volumeMounts": mounts}],
            "volumes": [{"name": "v", **volume}],
        },
    }
    manifest = manifest_of(orjson.dumps(body), "file")
    assert manifest.warnings == ()
    found: dict[str, Any] = manifest.pod["spec"]["volumes"][0]
    return found


def downward(**item: Any) -> dict[str, Any]:
    return {"downwardAPI": {"items": [{**ITEM, **item}]}}


def test_modes_and_policies_are_defaulted() -> None:
    assert accepted(downward())["downwardAPI"] == {
        "defaultMode": 0o644,
        "items": [{"path": "a", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
    }
    source = {"sources": [{"downwardAPI": {"items": [ITEM]}}]}
    assert accepted({"projected": source})["projected"]["defaultMode"] == 0o644
    assert accepted({"image": {"reference": "reg.test/a:1"}})["image"]["pullPolicy"] == "IfNotPresent"
    assert accepted({"image": {"reference": "reg.test/a"}})["image"]["pullPolicy"] == "Always"


@pytest.mark.parametrize(
    "path",
    ["metadata.labels", "metadata.annotations", "metadata.uid", "metadata.labels['a.b/c']",
     "metadata.annotations['A.b/C']"],
)  # fmt: skip
def test_fields_of_the_metadata_may_be_files(path: str) -> None:
    accepted(downward(fieldRef={"fieldPath": path}))


@pytest.mark.parametrize("mount", [{"subPath": "a/..b"}, {"subPathExpr": "$(A)/b"}, {"readOnly": True,
                         "recursiveReadOnly": "Enabled"}, {"recursiveReadOnly": "Disabled"}])  # fmt: skip
def test_parts_and_recursive_read_only_are_accepted(mount: dict[str, Any]) -> None:
    accepted({"emptyDir": {}}, mount)
    accepted({"image": {"reference": "reg.test/a:1"}}, mount)


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        (downward(path=""), "items[0].path: Required value"),
        (downward(path="/a"), "items[0].path: Invalid value: \"/a\": must be a relative path"),
        (downward(path="a/../b"), "must not contain '..'"),
        (downward(path="..a"), "must not start with '..'"),
        (downward(mode=0o1000), "items[0].mode: Invalid value: 512: must be a number between 0 and 0777"),
        ({"downwardAPI": {"defaultMode": -1}}, "defaultMode: Invalid value: -1"),
        (downward(fieldRef={"fieldPath": "status.podIP"}), 'Unsupported value: "status.podIP"'),
        (downward(fieldRef={"fieldPath": "metadata.labels['']"}), "fieldPath: Invalid value"),
        (downward(fieldRef={"fieldPath": ""}), "fieldRef.fieldPath: Required value"),
        (downward(resourceFieldRef={"containerName": "c", "resource": "limits.cpu"}), "can not be specified simul"),
        ({"downwardAPI": {"items": [{"path": "a"}]}}, "one of fieldRef and resourceFieldRef is required"),
        ({"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
         "resourceFieldRef.containerName: Required value"),
        ({"downwardAPI": {"items": [{"path": "a", "resourceFieldRef": {"containerName": "c", "resource": "x"}}]}},
         'resource: Unsupported value: "x"'),
        ({"projected": {"sources": [{"downwardAPI": {"items": [ITEM]}}, {"downwardAPI": {"items": [ITEM]}}]}},
         "sources[1].downwardAPI.items[0].path: Invalid value: \"a\": conflicting duplicate paths"),
        ({"projected": {"sources": [{"downwardAPI": {}, "configMap": {"name": "x"}}]}}, "more than 1 volume type"),
        ({"projected": {"sources": [{"configMap": {"name": "x"}}]}}, "may not reference configmaps"),
        ({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}, "may not reference serviceaccounts"),
        ({"projected": {"defaultMode": 0o1777}}, "projected.defaultMode: Invalid value"),
        ({"image": {}}, "image.reference: Required value"),
        ({"image": {"reference": "a", "pullPolicy": "Sometimes"}}, 'pullPolicy: Unsupported value: "Sometimes"'),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_field(volume: dict[str, Any], said: str) -> None:
    with pytest.raises(ManifestError) as error:
        accepted(volume)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("mount", "said"),
    [
        ({"recursiveReadOnly": "Enabled"}, "may only be specified when readOnly is true"),
        ({"recursiveReadOnly": "Always", "readOnly": True}, 'Unsupported value: "Always"'),
        (
            {"recursiveReadOnly": "IfPossible", "readOnly": True, "mountPropagation": "HostToContainer"},
            "may only be specified when mountPropagation is None or not specified",
        ),
        ({"subPath": "a", "subPathExpr": "b"}, "subPathExpr and subPath are mutually exclusive"),
        ({"subPath": "../a"}, "must not contain '..'"),
    ],
)
def test_mounts_that_cannot_be_are_refused(mount: dict[str, Any], said: str) -> None:
    with pytest.raises(ManifestError) as error:
        accepted({"emptyDir": {}}, mount)
    assert said in str(error.value)
