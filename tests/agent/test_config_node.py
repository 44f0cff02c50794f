"""Configuration of the node: what it is, what is kept back of it, which API server it serves."""

from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_config import settings

from podherd.agent.commands.run_options import spelled
from podherd.agent.config_node import node_ips, node_labels, taint_words
from podherd.errors import ConfigError


@pytest.mark.parametrize(
    ("body", "name", "value"),
    [
        ("kubeAPIQPS: 0", "kube_api_qps", 0),
        ("kubeAPIBurst: 7", "kube_api_burst", 7),
        ("eventRecordQPS: 5", "event_qps", 5),
        ("eventBurst: 9", "event_burst", 9),
        ("registerNode: false", "register_node", False),
        ("registerWithTaints: [{key: a.b/c, value: d, effect: NoExecute}]", "node_taints",
         (("a.b/c", "d", "NoExecute"),)),
        ("maxPods: 250", "pods_capacity", 250),
        ("podsPerCore: 5", "pods_per_core", 5),
        ("kubeReserved: {cpu: 100m, memory: 1Gi}", "kube_reserved", (("cpu", "100m"), ("memory", "1Gi"))),
        ("systemReserved: {ephemeral-storage: 1Gi}", "system_reserved", (("ephemeral-storage", "1Gi"),)),
        ("nodeStatusUpdateFrequency: 20s", "node_status_report_s", 20.0),
        ("nodeStatusUpdateFrequency: 20s\nnodeStatusReportFrequency: 1m", "node_status_report_s", 60.0),
        ("nodeStatusReportFrequency: 1m", "node_status_update_s", 10.0),
        ("", "node_status_report_s", 300.0),
        ("nodeLeaseDurationSeconds: 8", "node_lease_s", 8),
        ("nodeLeaseDurationSeconds: 0", "node_lease_s", 40),
        ("nodeStatusMaxImages: -1", "node_status_max_images", -1),
        ("rotateCertificates: true", "rotate_certificates", True),
        ("providerID: aws://x", "provider_id", "aws://x"),
        ("port: 10260", "port", 10260),
        ("enableControllerAttachDetach: false", "controller_attach_detach", False),
        ("shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s", "shutdown_grace_critical_s", 10.0),
        ("shutdownGracePeriodByPodPriority: [{priority: 10, shutdownGracePeriodSeconds: 5}, {priority: 0}]",
         "shutdown_grace_by_priority", ((0, 0.0), (10, 5.0))),
        ("configMapAndSecretChangeDetectionStrategy: Cache", "object_changes", "Cache"),
        ("imagePullCredentialsVerificationPolicy: AlwaysVerify", "pull_verification", "AlwaysVerify"),
        ("imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\n"
         "preloadedImagesVerificationAllowlist: [reg.test/base, reg.test:5000/team/*]",
         "pull_allowlist", ("reg.test/base", "reg.test:5000/team/*")),
        ("podherd: {inCluster: true}", "in_cluster", True),
    ],
)  # fmt: skip
def test_each_field_of_the_node_becomes_its_setting(tmp_path: Path, body: str, name: str, value: Any) -> None:
    assert getattr(settings(tmp_path, body), name) == value


def test_thresholds_that_are_given_replace_all_defaults_unless_they_are_merged(tmp_path: Path) -> None:
    given = "evictionHard: {memory.available: 1Gi}"
    assert dict(settings(tmp_path, given).eviction_hard) == {
        "memory.available": "1Gi", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
        "imagefs.available": "0%", "imagefs.inodesFree": "0%",
    }  # fmt: skip
    merged = dict(settings(tmp_path, f"{given}\nmergeDefaultEvictionSettings: true").eviction_hard)
    assert (merged["memory.available"], merged["nodefs.available"]) == ("1Gi", "10%")
    assert settings(tmp_path, "").eviction_hard == ()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("evictionHard: {memory.free: 1Gi}", "evictionHard: 'memory.free' is no signal"),
        ("evictionHard: {memory.available: 120%}", "evictionHard: '120%' is not a percentage"),
        ("evictionHard: {memory.available: lots}", "evictionHard: 'lots' is not a Kubernetes quantity"),
        ("kubeReserved: {gpu: 1}", "kubeReserved: 1 is not a text"),
        ("kubeReserved: {gpu: '1'}", "kubeReserved: 'gpu' cannot be reserved"),
        ("registerWithTaints: [{key: a, effect: Never}]", "registerWithTaints: 'Never' is no effect"),
        ("registerWithTaints: [{key: a, effect: NoExecute}, {key: a, value: b, effect: NoExecute}]",
         "registerWithTaints: two taints have the same key"),
        ("registerWithTaints: [{key: a, effekt: NoExecute}]", "registerWithTaints: 'effekt' is not a field"),
        ("nodeLeaseDurationSeconds: -1", "nodeLeaseDurationSeconds: -1 is not a whole number"),
        ("shutdownGracePeriod: 100ms", "shutdownGracePeriod: '100ms' is neither 0 nor at least 1s"),
        ("port: 70000", "port: 70000 is not a whole number from 1 to 65535"),
        ("imagePullCredentialsVerificationPolicy: Sometimes",
         "imagePullCredentialsVerificationPolicy: 'Sometimes' is none"),
        ("preloadedImagesVerificationAllowlist: ['*.test/x']",
         "preloadedImagesVerificationAllowlist: '*.test/x' is neither"),
        ("preloadedImagesVerificationAllowlist: [reg.test/base]", "is of use only with one policy"),
        ("configMapAndSecretChangeDetectionStrategy: Poll",
         "configMapAndSecretChangeDetectionStrategy: 'Poll' is none"),
    ],
)  # fmt: skip
def test_a_wrong_field_of_the_node_is_named(tmp_path: Path, body: str, reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(tmp_path, body)
    assert error.value.reason.startswith(reason)


@pytest.mark.parametrize(
    "word",
    ["a=b", "a=", "example.com/x=y", "node.kubernetes.io/pool=big", "sub.node.kubernetes.io/x=y",
     "kubelet.kubernetes.io/x=y", "topology.kubernetes.io/zone=z", "a=b,c=d"],
)  # fmt: skip
def test_labels_that_a_node_may_give_itself(word: str) -> None:
    assert dict(node_labels(word)) == dict(pair.split("=") for pair in word.split(","))


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("a", "is not key=value"),
        ("node-role.kubernetes.io/master=x", "namespace of Kubernetes"),
        ("kubernetes.io/x=y", "namespace of Kubernetes"),
        ("x.k8s.io/y=z", "namespace of Kubernetes"),
        ("-a=b", "is not a key"),
        ("A_B/c=d", "is not a key"),
        ("a=b c", "is not a value"),
    ],
)
def test_labels_that_are_refused(word: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        node_labels(word)


def test_taints_and_addresses_in_the_flags_form() -> None:
    assert taint_words("a=b:NoSchedule,c:NoExecute") == (("a", "b", "NoSchedule"), ("c", "", "NoExecute"))
    assert node_ips("192.0.2.1,2001:db8::1") == ("192.0.2.1", "2001:db8::1")
    assert node_ips("0.0.0.0") == ()
    for word in ("x", "192.0.2.1,192.0.2.2", "224.0.0.1", "169.254.1.1", "::"):
        with pytest.raises(ValueError, match=word.partition(",")[0]):
            node_ips(word)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"kubeconfig": Path("/none"), "in_cluster": True}, "in-cluster"),
        ({"kubeconfig": Path("/none")}, "kubeconfig /none: there is no such file"),
        ({"kubeconfig": Path("/none"), "bootstrap_kubeconfig": Path("/nor")}, "bootstrap kubeconfig /nor"),
        ({"bootstrap_kubeconfig": Path("/nor")}, "only beside --kubeconfig"),
        ({"in_cluster": True, "node_ips": ("127.0.0.1",)}, "loopback"),
        ({"credential_config": Path("/x")}, "used together"),
        ({"shutdown_grace_s": 1.0, "shutdown_grace_critical_s": 2.0}, "longer than shutdownGracePeriod"),
        ({"shutdown_grace_s": 1.0, "shutdown_grace_by_priority": ((0, 1.0),)}, "contradict"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(tmp_path: Path, flags: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        settings(tmp_path, **flags)


def test_a_bootstrap_kubeconfig_makes_up_for_one_that_is_not_there_yet(tmp_path: Path) -> None:
    (tmp_path / "first").touch()
    found = settings(tmp_path, kubeconfig=tmp_path / "later", bootstrap_kubeconfig=tmp_path / "first")
    assert found.serves_api
    assert found.pods_capacity == 110


def test_go_spells_a_flag_that_is_off_otherwise() -> None:
    assert spelled(["run", "--register-node=false"]) == ["run", "--no-register-node"]
    assert spelled(["exec", "--register-node=false"]) == ["exec", "--register-node=false"]
