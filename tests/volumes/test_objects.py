"""configMap, secret and projected volumes of API objects on real directories and mounts."""

import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.kit.objects import config_map, look_in, packed, secret
from tests.kit.volumes import make_pod, make_site, mounts_below

from podherd.machines.objects import references
from podherd.machines.objects.found import Found, Lookup
from podherd.model.pod import Pod
from podherd.model.view import pod_of
from podherd.volumes import registry
from podherd.volumes.errors import VolumeError
from podherd.volumes.ready import Ready
from podherd.volumes.removal import remove_tree, unmount_own

MODE = 0o644
PEM = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----"


def make(pod_dir: str, look: Lookup, kind: str, source: dict[str, Any], pod: Pod | None = None) -> Ready:
    site = replace(make_site(pod_dir, pod), look=look)
    return registry.prepare(site, {"name": "v", kind: {"defaultMode": MODE, **source}})


def projected(pod_dir: str, look: Lookup, *sources: dict[str, Any], pod: Pod | None = None) -> Ready:
    return make(pod_dir, look, "projected", {"sources": list(sources)}, pod)


def make_pod_of(pod: Pod, containers: list[dict[str, Any]]) -> Pod:
    return pod_of({**pod.body, "spec": {**pod.body["spec"], "containers": containers}})


def with_volume(pod: Pod, volume: dict[str, Any]) -> Pod:
    body = {**pod.body, "spec": {**pod.body["spec"], "volumes": [volume]}}
    return replace(pod_of(body), source="api")


def files(ready: Ready) -> dict[str, bytes]:
    root = Path(ready.path, "..data")
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def modes(ready: Ready) -> dict[str, int]:
    return {name: stat.S_IMODE(os.stat(Path(ready.path, name)).st_mode) for name in files(ready)}


def test_a_config_map_is_files_on_disk_text_and_binary(pod_dir: str, tmp_path: Path) -> None:
    look = look_in(config_map("c", {"a": "1", "b.txt": "zwei\n"}, binaryData=packed({"bin": b"\0\xff"})))
    ready = make(pod_dir, look, "configMap", {"name": "c"})
    assert ready == Ready(f"{pod_dir}/volumes/kubernetes.io~configmap/v", read_only=True)
    assert files(ready) == {"a": b"1", "b.txt": b"zwei\n", "bin": b"\0\xff"}
    assert os.readlink(f"{ready.path}/a") == "..data/a"
    assert mounts_below(tmp_path) == []


def test_a_secret_is_files_on_a_tmpfs_that_goes_with_the_pod(pod_dir: str, tmp_path: Path) -> None:
    ready = make(pod_dir, look_in(secret("s", {"key": b"\xfe"})), "secret", {"secretName": "s", "defaultMode": 0o400})
    assert ready == Ready(f"{pod_dir}/volumes/kubernetes.io~secret/v", read_only=True)
    assert (files(ready), modes(ready)) == ({"key": b"\xfe"}, {"key": 0o400})
    assert [(target, kind) for target, kind, _ in mounts_below(tmp_path)] == [(ready.path, "tmpfs")]
    unmount_own(pod_dir)
    remove_tree(pod_dir)
    assert not os.path.exists(pod_dir)


def test_items_choose_rename_and_have_modes_of_their_own(pod_dir: str) -> None:
    items = [{"key": "a", "path": "deep/er/a", "mode": 0o600}, {"key": "b", "path": "b2"}]
    look = look_in(config_map("c", {"a": "1", "b": "2", "c": "3"}))
    ready = make(pod_dir, look, "configMap", {"name": "c", "items": items})
    assert files(ready) == {"deep/er/a": b"1", "b2": b"2"}
    assert modes(ready) == {"deep/er/a": 0o600, "b2": MODE}


@pytest.mark.parametrize(
    ("kind", "source", "words"),
    [
        ("configMap", {"name": "no"}, 'configmap "no" not found'),
        ("secret", {"secretName": "no"}, 'secret "no" not found'),
        (
            "configMap",
            {"name": "c", "items": [{"key": "k", "path": "k"}]},
            "configmap references non-existent config key: k",
        ),
        ("secret", {"secretName": "s", "items": [{"key": "k", "path": "k"}]}, "references non-existent secret key: k"),
    ],
)
def test_what_is_not_there_is_told_in_the_kubelets_words_unless_optional(
    pod_dir: str, kind: str, source: dict[str, Any], words: str
) -> None:
    look = look_in(config_map("c", {"a": "1"}), secret("s", {"a": b"1"}))
    with pytest.raises(VolumeError) as failed:
        make(pod_dir, look, kind, source)
    assert failed.value.words == words
    assert not os.path.exists(f"{pod_dir}/volumes")
    assert files(make(pod_dir, look, kind, {**source, "optional": True})) == {}


def test_a_changed_object_changes_all_files_at_once_and_back_to_none(pod_dir: str) -> None:
    source = {"name": "c", "optional": True}
    ready = make(pod_dir, look_in(config_map("c", {"a": "1", "b": "1"})), "configMap", source)
    version = os.readlink(f"{ready.path}/..data")
    make(pod_dir, look_in(config_map("c", {"a": "1", "b": "1"})), "configMap", source)
    assert os.readlink(f"{ready.path}/..data") == version
    make(pod_dir, look_in(config_map("c", {"a": "2", "c": "2"})), "configMap", source)
    assert files(ready) == {"a": b"2", "c": b"2"}
    assert not os.path.lexists(f"{ready.path}/b")
    make(pod_dir, look_in(), "configMap", source)
    assert files(ready) == {}


@pytest.mark.parametrize("path", ["../../etc/x", "/etc/x", "..data", "a/../../x", "x" * 256])
def test_a_path_that_leads_out_of_the_volume_writes_nothing(pod_dir: str, path: str) -> None:
    look = look_in(config_map("c", {"a": "1"}))
    with pytest.raises(VolumeError):
        make(pod_dir, look, "configMap", {"name": "c", "items": [{"key": "a", "path": path}]})
    volume = f"{pod_dir}/volumes/kubernetes.io~configmap/v"
    assert not os.path.exists(volume) or os.listdir(volume) == []


def test_projected_joins_objects_and_fields(pod_dir: str, tmp_path: Path) -> None:
    look = look_in(config_map("c", {"ca.crt": "root"}), secret("s", {"pw": b"x"}))
    name = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    ready = projected(
        pod_dir, look, {"configMap": {"name": "c"}}, {"secret": {"name": "s", "items": [{"key": "pw", "path": "p/w"}]}},
        {"downwardAPI": {"items": [name]}}, {"configMap": {"name": "no", "optional": True}},
    )  # fmt: skip
    assert files(ready) == {"ca.crt": b"root", "p/w": b"x", "namespace": b"d"}
    assert [kind for _, kind, _ in mounts_below(tmp_path)] == ["tmpfs"]


def test_errors_of_projected_sources_come_together_each_once(pod_dir: str) -> None:
    with pytest.raises(VolumeError) as failed:
        projected(pod_dir, look_in(), *[{"configMap": {"name": "a"}}] * 2, {"secret": {"name": "b"}})
    assert failed.value.words == '[configmap "a" not found, secret "b" not found]'
    with pytest.raises(VolumeError) as failed:
        projected(pod_dir, look_in(), {"configMap": {"name": "a"}})
    assert failed.value.words == 'configmap "a" not found'


def test_a_pod_certificate_is_written_as_bundle_and_as_two_files(pod_dir: str) -> None:
    source = {"signerName": "x.test/y", "keyType": "ED25519", "credentialBundlePath": "both", "keyPath": "key"}
    pod = make_pod_of(make_pod(spec={"securityContext": {"fsGroup": 4000}}), [])
    ref = references.certificate(pod, "v", 1, {**source, "certificateChainPath": "chain"})
    look = look_in((ref, Found({"key": "K\n", "chain": "C\n"})))
    parts = [{"downwardAPI": {"items": []}}, {"podCertificate": {**source, "certificateChainPath": "chain"}}]
    ready = projected(pod_dir, look, *parts, pod=pod)
    assert files(ready) == {"both": b"K\nC\n", "key": b"K\n", "chain": b"C\n"}
    assert stat.S_IMODE(os.stat(f"{ready.path}/key").st_mode) == 0o640
    assert ref in references.references(with_volume(pod, {"name": "v", "projected": {"sources": parts}}))


def test_a_pod_certificate_that_is_not_issued_says_so(pod_dir: str) -> None:
    source = {"signerName": "x.test/y", "keyType": "ED25519", "keyPath": "key"}
    ref = references.certificate(make_pod(), "v", 0, source)
    look = look_in((ref, Found(problem="credential bundle is not issued yet")))
    with pytest.raises(VolumeError, match="credential bundle is not issued yet"):
        projected(pod_dir, look, {"podCertificate": source})


TOKEN = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}}


def token_of(pod: Pod, text: str = "t0") -> Lookup:
    return look_in((references.token(pod, TOKEN["serviceAccountToken"]), Found({"token": text})))


@pytest.mark.parametrize(
    ("spec", "users", "mode", "owner", "group"),
    [
        ({}, (None,), 0o644, 0, 0),
        ({"securityContext": {"fsGroup": 4000}}, (None,), 0o640, 0, 4000),
        ({"securityContext": {"runAsUser": 1000}}, (None, None), 0o600, 1000, 0),
        ({"securityContext": {"runAsUser": 1000}}, (None, 1001), 0o644, 0, 0),
        ({}, (1001, 1001), 0o600, 1001, 0),
        ({}, (1001, None), 0o644, 0, 0),
        ({"securityContext": {"fsGroup": 4000}}, (1001,), 0o640, 1001, 4000),
    ],
)
def test_a_token_may_be_read_by_the_pods_group_or_its_one_user_only(
    pod_dir: str, spec: dict[str, Any], users: tuple[int | None, ...], mode: int, owner: int, group: int
) -> None:
    containers = [
        {"name": f"c{n}", "image": "i", "imagePullPolicy": "Never", "resources": {}}
        | ({} if user is None else {"securityContext": {"runAsUser": user}})
        for n, user in enumerate(users)
    ]
    pod = make_pod_of(make_pod(spec=spec), containers)
    ready = projected(pod_dir, token_of(pod), TOKEN, pod=pod)
    found = os.stat(f"{ready.path}/token")
    assert files(ready) == {"token": b"t0"}
    assert (stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid) == (mode, owner, group)


def test_a_new_token_takes_the_place_of_the_old(pod_dir: str) -> None:
    pod = make_pod()
    ready = projected(pod_dir, token_of(pod), TOKEN, pod=pod)
    projected(pod_dir, token_of(pod, "t1"), TOKEN, pod=pod)
    assert files(ready) == {"token": b"t1"}


def test_a_token_that_could_not_be_had_says_why(pod_dir: str) -> None:
    pod = make_pod()
    ref = references.token(pod, TOKEN["serviceAccountToken"])
    look = look_in((ref, Found(problem='failed to fetch token: serviceaccounts "default" not found')))
    with pytest.raises(VolumeError) as failed:
        projected(pod_dir, look, TOKEN, pod=pod)
    assert failed.value.words == 'failed to fetch token: serviceaccounts "default" not found'


def test_a_trust_bundle_holds_each_certificate_once(pod_dir: str) -> None:
    source = {"signerName": "a.test/b", "labelSelector": {}, "path": "roots.pem"}
    bundles = [
        {"spec": {"trustBundle": f"# note\n{PEM.format('BBBB')}\n{PEM.format('AAAA')}\n"}},
        {"spec": {"trustBundle": PEM.format("AAAA")}},
    ]
    look = look_in((references.trust_bundle(source), Found({"items": bundles})))
    ready = projected(pod_dir, look, {"clusterTrustBundle": source})
    assert files(ready) == {"roots.pem": f"{PEM.format('AAAA')}\n{PEM.format('BBBB')}\n".encode()}


def test_a_trust_bundle_that_is_not_there_is_an_error_unless_optional(pod_dir: str) -> None:
    source = {"name": "b", "path": "roots.pem"}
    with pytest.raises(VolumeError, match='"b" not found'):
        projected(pod_dir, look_in(), {"clusterTrustBundle": source})
    ready = projected(pod_dir, look_in(), {"clusterTrustBundle": {**source, "optional": True}})
    assert files(ready) == {"roots.pem": b""}


NONE = "combination of signerName and labelSelector matched zero ClusterTrustBundles"


@pytest.mark.parametrize("selector", [None, {"matchLabels": {"a": "b"}}])
def test_a_signer_without_a_bundle_is_an_error_unless_optional(pod_dir: str, selector: Any) -> None:
    source = {"signerName": "a.test/b", "labelSelector": selector, "path": "roots.pem"}
    look = look_in((references.trust_bundle(source), Found({"items": []})))
    with pytest.raises(VolumeError) as failed:
        projected(pod_dir, look, {"clusterTrustBundle": source})
    assert failed.value.words == NONE
    ready = projected(pod_dir, look, {"clusterTrustBundle": {**source, "optional": True}})
    assert files(ready) == {"roots.pem": b""}


def test_no_selector_selects_no_bundle_even_where_the_signer_has_some(pod_dir: str) -> None:
    source = {"signerName": "a.test/b", "path": "roots.pem"}
    bundles = [{"spec": {"trustBundle": PEM.format("AAAA")}}]
    look = look_in((references.trust_bundle(source), Found({"items": bundles})))
    with pytest.raises(VolumeError, match=NONE):
        projected(pod_dir, look, {"clusterTrustBundle": source})
    pod = with_volume(make_pod(), {"name": "v", "projected": {"sources": [{"clusterTrustBundle": source}]}})
    assert not [ref for ref in references.references(pod) if ref.kind == "ClusterTrustBundle"]
