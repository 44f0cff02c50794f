"""Configuration: the file's fields, podherd's block, flags, errors that name field and mend."""

from pathlib import Path
from typing import Any

import pytest

from podherd.agent.config import load, read
from podherd.agent.config_fields import ACTED, KNOWN, OWN, TOGETHER
from podherd.agent.config_values import NO_LIMIT, duration_s, endpoint, header
from podherd.errors import ConfigError
from podherd.model.settings import Settings

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def written(tmp_path: Path, body: str, head: str = HEAD) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(head + body)
    return path


def settings(tmp_path: Path, body: str = "", **flags: Any) -> Settings:
    return load(written(tmp_path, body), flags).settings


@pytest.mark.parametrize(
    ("word", "seconds"),
    [("20s", 20), ("1m30s", 90), ("1.5h", 5400), ("300ms", 0.3), ("0", 0), ("0s", 0), ("2h45m", 9900), ("1us", 1e-6),
     ("1µs", 1e-6), ("5ns", 5e-9), (".5s", 0.5), ("+3s", 3), (0, 0)],
)  # fmt: skip
def test_a_duration_is_read_as_go_reads_it(word: Any, seconds: float) -> None:
    assert duration_s(word) == pytest.approx(seconds)


@pytest.mark.parametrize("word", ["", "20", "s", "1m 30s", "-5s", "1d", "5 s", "20s!", 20, 1.5, None, True, False, []])
def test_anything_else_is_no_duration(word: Any) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        duration_s(word)


@pytest.mark.parametrize(
    ("body", "name", "value"),
    [
        ("staticPodPath: /etc/podherd/", "manifests", Path("/etc/podherd")),
        ('staticPodPath: ""', "manifests", None),
        ("staticPodURL: https://example.test/pods", "manifest_url", "https://example.test/pods"),
        ("staticPodURLHeader: {X-A: [one, two], X-B: [three]}", "manifest_url_headers",
         (("X-A", "one"), ("X-A", "two"), ("X-B", "three"))),
        ("fileCheckFrequency: 1m30s", "file_check_s", 90.0),
        ("fileCheckFrequency: 0s", "file_check_s", 20.0),
        ("httpCheckFrequency: 5s", "http_check_s", 5.0),
        ("syncFrequency: 10s", "sync_s", 10.0),
        ("runtimeRequestTimeout: 15m", "runtime_request_s", 900.0),
        ("containerRuntimeEndpoint: unix:///run/crio/crio.sock", "runtime_endpoint", "unix:///run/crio/crio.sock"),
        ("containerRuntimeEndpoint: /run/a.sock", "runtime_endpoint", "unix:///run/a.sock"),
        ("imageServiceEndpoint: unix:///run/b.sock", "image_endpoint", "unix:///run/b.sock"),
        ("podLogsDir: /srv/logs", "pod_logs_dir", Path("/srv/logs")),
        ("cgroupRoot: /mine", "cgroup_root", "/mine"),
        ("cgroupDriver: systemd", "cgroup_driver", "systemd"),
        ("cpuCFSQuota: false", "cpu_cfs_quota", False),
        ("cpuCFSQuotaPeriod: 50ms", "cpu_cfs_period_us", 50_000),
        ("seccompDefault: true", "seccomp_default", True),
        ("allowedUnsafeSysctls: [kernel.msg*, net.core.somaxconn]", "allowed_unsafe_sysctls",
         ("kernel.msg*", "net.core.somaxconn")),
        ("singleProcessOOMKill: true", "single_process_oom_kill", True),
        ("userNamespaces: {idsPerPod: 131072}", "ids_per_pod", 131072),
        ("userNamespaces: {}", "ids_per_pod", 65536),
        ("clusterDNS: [10.0.0.10, 10.0.0.11]", "cluster_dns", ("10.0.0.10", "10.0.0.11")),
        ("clusterDomain: cluster.local", "cluster_domain", "cluster.local"),
        ("resolvConf: /run/resolv.conf", "resolv_conf", "/run/resolv.conf"),
        ("registryPullQPS: 0", "pull_qps", 0),
        ("registryBurst: 3", "pull_burst", 3),
        ("", "max_parallel_pulls", 1),
        ("serializeImagePulls: true", "max_parallel_pulls", 1),
        ("serializeImagePulls: false", "max_parallel_pulls", NO_LIMIT),
        ("serializeImagePulls: false\nmaxParallelImagePulls: 4", "max_parallel_pulls", 4),
        ("crashLoopBackOff: {maxContainerRestartPeriod: 30s}", "crash_loop_max_s", 30.0),
        ("crashLoopBackOff: {}", "crash_loop_max_s", 300.0),
        ("podherd: {nodeName: Big-One}", "node_name", "big-one"),
        ("podherd: {rootDir: /srv/podherd}", "root_dir", Path("/srv/podherd")),
        ("podherd: {relistPeriod: 500ms}", "relist_s", 0.5),
        ("podherd: {journalMB: 0}", "journal_mb", 0),
        ("podherd: {shards: 4}", "shards", 4),
        ("podherd: {drainOnExit: true}", "drain_on_exit", True),
        ("podherd: {logLevel: debug}", "log_level", "debug"),
    ],
)  # fmt: skip
def test_each_field_acted_on_becomes_its_setting(tmp_path: Path, body: str, name: str, value: Any) -> None:
    assert getattr(settings(tmp_path, body), name) == value


def test_every_acted_field_names_a_real_setting() -> None:
    names = Settings.__dataclass_fields__
    assert all(setting in names for setting, _ in (*ACTED.values(), *OWN.values()))
    assert not KNOWN & {*ACTED, *TOGETHER}


@pytest.mark.parametrize(
    ("body", "reason", "mend"),
    [
        ("fileCheckFrequecy: 5s", "fileCheckFrequecy: unknown field", "did you mean fileCheckFrequency?"),
        ("evictionhard: {}", "evictionhard: unknown field", "did you mean evictionHard?"),
        ("podherd: {shard: 2}", "podherd.shard: unknown field", "did you mean podherd.shards?"),
        ("crashLoopBackOff: {maxPeriod: 3s}", "crashLoopBackOff.maxPeriod: unknown field", "remove it"),
        ("zzzqqq: 1", "zzzqqq: unknown field", "remove it"),
        ("fileCheckFrequency: 20", "fileCheckFrequency: 20 is not a duration such as 20s", "correct the field"),
        ("staticPodPath: etc/x", "staticPodPath: 'etc/x' is not an absolute path", "correct"),
        ("cgroupDriver: v2", "cgroupDriver: 'v2' is none of cgroupfs, systemd", "correct"),
        ("staticPodURL: ftp://x", "staticPodURL: 'ftp://x' is not an http", "correct"),
        ("staticPodURLHeader: {A: one}", "staticPodURLHeader: 'one' is not a list", "correct"),
        ("registryPullQPS: -1", "registryPullQPS: -1 is not a whole number", "correct"),
        ("cpuCFSQuota: 1", "cpuCFSQuota: 1 is not true or false", "correct"),
        ("cpuCFSQuotaPeriod: 2s", "cpuCFSQuotaPeriod: '2s' is not a duration from 1ms to 1s", "correct"),
        ("containerRuntimeEndpoint: tcp://x", "containerRuntimeEndpoint: 'tcp://x' is neither", "correct"),
        ("maxParallelImagePulls: 4", "maxParallelImagePulls: is more than 1", "serializeImagePulls: false"),
        ("crashLoopBackOff: {maxContainerRestartPeriod: 10m}", "crashLoopBackOff.maxContainerRestartPeriod", "correct"),
        ("podherd: [1]", "podherd: is not a mapping", "it holds"),
        ("podherd: {shards: 0}", "podherd.shards: 0 is not a whole number from 1 to 256", "correct"),
        ("allowedUnsafeSysctls: [vm.swappiness]", "allowedUnsafeSysctls: 'vm.swappiness' is not known", "correct"),
        ("allowedUnsafeSysctls: ['net.*.x']", "allowedUnsafeSysctls: 'net.*.x' is not known", "correct"),
        ("userNamespaces: {idsPerPod: 1000}", "userNamespaces: {'idsPerPod': 1000} is not idsPerPod", "correct"),
        ("userNamespaces: {ids: 65536}", "userNamespaces: {'ids': 65536} is not idsPerPod", "correct"),
        ("clusterDNS: [1]", "clusterDNS: 1 is not a text", "correct"),
        ("maxPods: 5\nmaxPods: 6", "maxPods: the key is there twice", "keep one"),
    ],
)
def test_an_error_names_the_field_and_the_mend(tmp_path: Path, body: str, reason: str, mend: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(tmp_path, body)
    assert error.value.thing == f"config {tmp_path}/config.yaml"
    assert error.value.reason.startswith(reason)
    assert mend in error.value.mend


@pytest.mark.parametrize("head", ["", "kind: KubeletConfiguration\n", HEAD.replace("v1beta1", "v1"), "[1]\n", "{a: \n"])
def test_another_document_is_refused(tmp_path: Path, head: str) -> None:
    with pytest.raises(ConfigError, match=r"is not|is empty"):
        load(written(tmp_path, "", head), {})


def test_a_missing_file_is_a_config_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"No such file.*check --config"):
        load(tmp_path / "none.yaml", {})


def test_known_fields_that_nothing_acts_on_are_listed(tmp_path: Path) -> None:
    _, not_acted = read(written(tmp_path, "oomScoreAdj: 5\nhairpinMode: none\nsyncFrequency: 5s\n"))
    assert not_acted == ("hairpinMode", "oomScoreAdj")


def test_flags_win_over_the_file_and_none_is_no_flag(tmp_path: Path) -> None:
    body = "fileCheckFrequency: 5s\npodherd: {nodeName: file, rootDir: /file}"
    found = settings(tmp_path, body, node_name="Flag", file_check_s=None, root_dir=Path("/flag"))
    assert (found.node_name, found.file_check_s, found.root_dir) == ("flag", 5.0, Path("/flag"))


def test_without_a_file_the_defaults_stand() -> None:
    found = load(None, {}).settings
    assert (found.root_dir, found.runtime_endpoint, found.manifests) == (Path("/var/lib/podherd"), "", None)
    assert found.node_name == found.node_name.strip().lower() != ""


def test_a_root_too_deep_for_its_socket_is_refused() -> None:
    with pytest.raises(ConfigError, match="shorter --root-dir"):
        load(None, {"root_dir": Path("/" + "x" * 120)})


def test_endpoints_and_headers_in_the_forms_that_people_write() -> None:
    assert [endpoint(word) for word in ("", "hollow", "/a.sock")] == ["", "hollow", "unix:///a.sock"]
    assert header("Name: a:b") == ("Name", "a:b")
    with pytest.raises(ValueError, match="NAME:VALUE"):
        header("no colon")
