"""The sample manifests are right and use nothing that is not supported yet."""

from pathlib import Path

import pytest

from podherd.model.parse import manifest_of

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "manifests").iterdir())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_a_pod_without_a_warning(path):
    manifest = manifest_of(path.read_bytes(), path.name)
    assert manifest.warnings == ()
    assert manifest.pod["metadata"]["name"] == path.stem
    assert manifest.pod["spec"]["dnsPolicy"] == "Default"  # else each gives a warning: no cluster's DNS is there
    assert {one["image"] for one in manifest.pod["spec"]["containers"]} == {"podherd.local/busybox:1"}


def test_there_is_a_server_a_shared_volume_a_job_and_a_crash():
    assert [path.stem for path in EXAMPLES] == ["crash", "job", "shared", "web"]
