"""downwardAPI and projected volumes on real tmpfs mounts."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.volumes import make_pod, make_site, mounts_below

from podherd.model.pod import Pod
from podherd.volumes import registry
from podherd.volumes.errors import VolumeError
from podherd.volumes.quote import lines_of, quoted
from podherd.volumes.ready import Ready

LABELS = {"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}}


def field(path: str, wanted: str, **more: Any) -> dict[str, Any]:
    return {"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": wanted}, **more}


def resource(path: str, wanted: str, container: str = "c0", **more: Any) -> dict[str, Any]:
    return {"path": path, "resourceFieldRef": {"containerName": container, "resource": wanted, **more}}


def downward(pod_dir: str, pod: Pod, *items: dict[str, Any], mode: int = 0o644) -> Ready:
    source = {"items": list(items), "defaultMode": mode}
    return registry.prepare(make_site(pod_dir, pod), {"name": "v", "downwardAPI": source})


def projected(pod_dir: str, pod: Pod, *sources: dict[str, Any], mode: int = 0o644) -> Ready:
    source = {"sources": list(sources), "defaultMode": mode}
    return registry.prepare(make_site(pod_dir, pod), {"name": "v", "projected": source})


def mode_of(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def text(ready: Ready, name: str) -> str:
    return Path(ready.path, name).read_text()


def test_fields_of_the_pod_are_files_on_a_tmpfs(pod_dir: str, tmp_path: Path) -> None:
    pod = make_pod(labels={"b": "2", "a": "1"}, annotations={"x.y/z": 'say "hi"\n'})
    ready = downward(
        pod_dir, pod, LABELS, field("in/notes", "metadata.annotations"), field("one", "metadata.annotations['x.y/z']"),
        field("name", "metadata.name"), field("ns", "metadata.namespace"), field("uid", "metadata.uid"),
        field("none", "metadata.labels['none']"),
    )  # fmt: skip
    assert ready == Ready(f"{pod_dir}/volumes/kubernetes.io~downward-api/v", read_only=True)
    assert text(ready, "labels") == 'a="1"\nb="2"'
    assert text(ready, "in/notes") == 'x.y/z="say \\"hi\\"\\n"'
    assert text(ready, "one") == 'say "hi"\n'
    assert [text(ready, name) for name in ("name", "ns", "uid", "none")] == ["p", "d", "u1", ""]
    ((target, kind, options),) = mounts_below(tmp_path)
    assert (target, kind) == (ready.path, "tmpfs")
    assert f"size={(1 << 30) // 1024}k" in options.split(",")
    assert mode_of(ready.path) == 0o777


def test_resources_come_in_units_of_their_divisor_rounded_up(pod_dir: str) -> None:
    pod = make_pod({"limits": {"memory": "65Mi"}, "requests": {"cpu": "1500m"}}, {})
    ready = downward(
        pod_dir, pod, resource("m", "limits.memory", divisor="64Mi"), resource("c", "requests.cpu"),
        resource("cm", "requests.cpu", divisor="1m"), resource("node", "limits.memory", "c1"),
    )  # fmt: skip
    assert [text(ready, name) for name in ("m", "c", "cm", "node")] == ["2", "2", "1500", str(1 << 30)]


def test_an_items_mode_wins_over_the_default_also_when_it_is_zero(pod_dir: str) -> None:
    ready = downward(pod_dir, make_pod(), LABELS, field("a", "metadata.name", mode=0o400),
                     field("b", "metadata.name", mode=0), mode=0o440)  # fmt: skip
    assert [mode_of(f"{ready.path}/{name}") for name in ("labels", "a", "b")] == [0o440, 0o400, 0]


def test_changed_labels_are_written_at_the_next_call_and_equal_ones_are_not(pod_dir: str, tmp_path: Path) -> None:
    ready = downward(pod_dir, make_pod(labels={"a": "1"}), LABELS)
    version = os.readlink(f"{ready.path}/..data")
    assert downward(pod_dir, make_pod(labels={"a": "1"}), LABELS) == ready
    assert os.readlink(f"{ready.path}/..data") == version
    downward(pod_dir, make_pod(labels={"a": "2"}), LABELS)
    assert text(ready, "labels") == 'a="2"'
    assert len(mounts_below(tmp_path)) == 1


def test_the_pods_group_owns_what_is_written_and_may_read_it(pod_dir: str) -> None:
    pod = make_pod(spec={"securityContext": {"fsGroup": 4000}})
    ready = downward(pod_dir, pod, field("sub/name", "metadata.name", mode=0o400), LABELS)
    found = os.stat(f"{ready.path}/sub/name")
    assert (found.st_gid, stat.S_IMODE(found.st_mode)) == (4000, 0o440)
    assert (os.stat(ready.path).st_gid, mode_of(ready.path)) == (4000, 0o2777)
    version = os.stat(f"{ready.path}/..data/")
    assert (version.st_gid, stat.S_IMODE(version.st_mode)) == (4000, 0o2755)
    assert os.stat(f"{ready.path}/sub").st_mode & stat.S_ISGID


def test_a_container_that_is_not_there_is_named(pod_dir: str) -> None:
    with pytest.raises(VolumeError, match=r"path cpu: .*none.* not found"):
        downward(pod_dir, make_pod(), resource("cpu", "limits.cpu", "none"))


def test_projected_joins_its_sources(pod_dir: str) -> None:
    first = {"downwardAPI": {"items": [field("a/name", "metadata.name")]}}
    second = {"downwardAPI": {"items": [field("a/uid", "metadata.uid", mode=0o600)]}}
    ready = projected(pod_dir, make_pod(), first, second, mode=0o444)
    assert ready == Ready(f"{pod_dir}/volumes/kubernetes.io~projected/v", read_only=True)
    assert (text(ready, "a/name"), text(ready, "a/uid")) == ("p", "u1")
    assert (mode_of(f"{ready.path}/a/name"), mode_of(f"{ready.path}/a/uid")) == (0o444, 0o600)


def test_projected_writes_nothing_when_any_source_fails(pod_dir: str, tmp_path: Path) -> None:
    good = {"downwardAPI": {"items": [LABELS]}}
    bad = {"downwardAPI": {"items": [resource("cpu", "limits.cpu", "none")]}}
    with pytest.raises(VolumeError, match=r"\[path cpu: .*, a Secret reference needs an API server"):
        projected(pod_dir, make_pod(), good, bad, {"secret": {"name": "s"}})
    assert not os.path.exists(f"{pod_dir}/volumes")
    assert mounts_below(tmp_path) == []
    assert os.path.isdir(projected(pod_dir, make_pod()).path)


def test_an_image_volume_is_the_runtimes_to_mount(pod_dir: str) -> None:
    source = {"reference": "reg.test/data:1", "pullPolicy": "Never"}
    ready = registry.prepare(make_site(pod_dir), {"name": "v", "image": source})
    assert ready == Ready("", True, "reg.test/data:1", "Never")
    assert os.listdir(pod_dir) == []
    with pytest.raises(VolumeError, match=r"image\.reference is empty"):
        registry.prepare(make_site(pod_dir), {"name": "v", "image": {"reference": "", "pullPolicy": "Always"}})


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain", '"plain"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x1f\x7f", r'"\x00\x1f\x7f"'),
        ("\x85\xa0\u200b", r'"\u0085\u00a0\u200b"'),
        ("\U000e0001", r'"\U000e0001"'),
        ("grüße 世界 🐑", '"grüße 世界 🐑"'),
        ("\xad", r'"\u00ad"'),
    ],
)
def test_values_are_escaped_as_go_does(text: str, escaped: str) -> None:
    assert quoted(text) == escaped


@given(st.dictionaries(st.text("abc/.-", min_size=1), st.text()))
def test_every_value_stays_on_its_own_line(values: dict[str, str]) -> None:
    lines = lines_of(values).split("\n") if values else []
    assert [line.partition("=")[0] for line in lines] == sorted(values)
