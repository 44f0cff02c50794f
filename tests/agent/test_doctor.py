"""Doctor's checks on pretended hosts: each lack is found and its mend named."""

import os
import time
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from podherd.agent import doctor, doctor_agent, doctor_host, doctor_runtime
from podherd.agent.doctor import Finding, Host, Level, Runtime
from podherd.agent.hollow_child import HollowChild

from .conftest import FakeAgent, Podherd

ALL_CAPABILITIES = "CapEff:\t000001ffffffffff"
NO_SYS_RESOURCE = "CapEff:\t000001fffeffffff"


def host(tmp_path: Path, files: dict[str, str], **words: object) -> Host:
    for name, content in files.items():
        path = tmp_path / "host" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    root_dir = words.pop("root_dir", tmp_path / "no-agent")
    return Host(root_dir=root_dir, endpoint="", root=tmp_path / "host", **words)  # type: ignore[arg-type]


def found(check: doctor.Check, host: Host) -> list[tuple[str, Level]]:
    return [(finding.what, finding.level) for finding in check(host)]


def test_another_user_than_root_is_bad(tmp_path: Path) -> None:
    assert found(doctor_host.user, host(tmp_path, {}, user_id=1000)) == [("user", Level.BAD)]
    assert found(doctor_host.user, host(tmp_path, {}, user_id=0)) == [("user", Level.OK)]


V1 = {f"sys/fs/cgroup/{name}/cgroup.procs": "" for name in ("cpu", "cpuset", "memory", "pids")}
V2 = {"sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory hugetlb pids"}


@pytest.mark.parametrize(
    ("files", "mode", "level"),
    [
        (V2, "v2", Level.OK),
        (V1, "v1", Level.OK),
        ({**V1, "sys/fs/cgroup/unified/cgroup.procs": ""}, "hybrid", Level.OK),
        ({}, "none", Level.BAD),
        ({"sys/fs/cgroup/cgroup.controllers": "cpu io"}, "v2", Level.BAD),
        ({name: "" for name in V1 if "pids" not in name}, "v1", Level.BAD),
    ],
)
def test_the_cgroup_mode_and_its_controllers(tmp_path: Path, files: dict[str, str], mode: str, level: Level) -> None:
    there = host(tmp_path, files)
    assert doctor_host.cgroup_mode(there) == mode
    assert found(doctor_host.cgroups, there) == [("cgroups", level)]


def test_lacking_controllers_are_named(tmp_path: Path) -> None:
    (finding,) = doctor_host.cgroups(host(tmp_path, {"sys/fs/cgroup/cgroup.controllers": "cpu cpuset"}))
    assert "without memory, pids" in finding.detail


@pytest.mark.parametrize(
    ("status", "level"), [(ALL_CAPABILITIES, Level.OK), (NO_SYS_RESOURCE, Level.WARN), ("", Level.WARN)]
)
def test_a_missing_cap_sys_resource_names_the_runtimes_setting(tmp_path: Path, status: str, level: Level) -> None:
    (finding,) = doctor_host.capabilities(host(tmp_path, {"proc/self/status": f"Name:\tx\n{status}\n"}))
    assert finding.level is level
    assert ("restrict_oom_score_adj = true" in finding.mend) is (level is Level.WARN)


@pytest.mark.parametrize(
    ("runtime", "levels"),
    [
        (Runtime(), [Level.WARN, Level.WARN, Level.WARN]),
        (Runtime(restricts_oom=True), [Level.OK, Level.WARN, Level.WARN]),
        (Runtime(network_ready=True), [Level.WARN, Level.OK]),
        (Runtime(pretended=True), [Level.OK, Level.OK]),
    ],
)
def test_what_the_runtime_does_without_is_no_warning(tmp_path: Path, runtime: Runtime, levels: list[Level]) -> None:
    there = host(tmp_path, {"proc/self/status": f"{NO_SYS_RESOURCE}\n"}, runtime=runtime)
    findings = doctor.examine(there, (doctor_host.capabilities, doctor_host.cni))
    assert [finding.level for finding in findings] == levels


def test_podherds_own_configuration_of_a_containerd_that_is_away_is_read(tmp_path: Path) -> None:
    endpoint = f"unix://{tmp_path}/containerd.sock"
    assert doctor_runtime.look(endpoint) == Runtime()
    (tmp_path / "config.toml").write_text("  restrict_oom_score_adj = true\n")
    assert doctor_runtime.look(endpoint) == Runtime(restricts_oom=True)


def test_the_configuration_names_runtime_and_root(tmp_path: Path, agent: FakeAgent, podherd: Podherd) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        f"containerRuntimeEndpoint: unix://{tmp_path}/none.sock\npodherd: {{rootDir: {agent.root_dir}}}\n"
    )
    agent.say("/v1/actors", {"items": []})
    agent.say("/v1/problems", {"items": []})
    _, out, _ = podherd("doctor", "--config", config)
    assert f"unix://{tmp_path}/none.sock" in out
    assert f"runs with root directory {agent.root_dir}" in out


def test_an_unreadable_kernel_log_is_a_warning(tmp_path: Path) -> None:
    assert found(doctor_host.kernel_log, host(tmp_path, {})) == [("kernel log", Level.WARN)]
    assert found(doctor_host.kernel_log, host(tmp_path, {"dev/kmsg": ""})) == [("kernel log", Level.OK)]


def test_few_inotify_watches_name_the_sysctl(tmp_path: Path) -> None:
    limits = {"proc/sys/fs/inotify/max_user_watches": "8192\n", "proc/sys/fs/inotify/max_user_instances": "1024\n"}
    few, enough = doctor_host.inotify(host(tmp_path, limits))
    assert (few.level, few.mend) == (Level.WARN, "sysctl -w fs.inotify.max_user_watches=65536")
    assert enough.level is Level.OK


def test_cni_plugins_and_configuration(tmp_path: Path) -> None:
    plugins, configuration = doctor_host.cni(host(tmp_path, {"opt/cni/bin/bridge": "", "usr/lib/cni/loopback": ""}))
    assert "no host-local, portmap" in plugins.detail
    assert plugins.mend == "apt-get install containernetworking-plugins"
    assert configuration.level is Level.WARN
    files = {f"opt/cni/bin/{name}": "" for name in doctor_host.CNI_NEEDED}
    whole = host(tmp_path, {**files, "etc/cni/net.d/10-net.conflist": '{"name": "pods"}'})
    assert [finding.level for finding in doctor_host.cni(whole)] == [Level.OK, Level.OK]
    (tmp_path / "host/etc/cni/net.d/05-bad.conf").write_text("{")
    assert found(doctor_host.cni, whole)[1] == ("CNI configuration", Level.BAD)


def test_no_socket_and_a_dead_socket_are_bad(tmp_path: Path) -> None:
    assert found(doctor_runtime.runtime, host(tmp_path, {})) == [("CRI socket", Level.BAD)]
    dead = Host(tmp_path, f"unix://{tmp_path}/none.sock")
    (finding,) = doctor_runtime.runtime(dead)
    assert (finding.what, finding.level) == ("CRI socket", Level.BAD)
    assert "systemctl start containerd" in finding.mend
    assert found(doctor_runtime.images, dead) == [("images", Level.WARN)]


def test_a_runtime_shows_version_and_conditions(tmp_path: Path) -> None:
    child = HollowChild(tmp_path / "hollow.sock", print)
    findings = doctor.examine(Host(tmp_path, child.endpoint), doctor_runtime.CHECKS)
    told = doctor_runtime.look(child.endpoint)
    child.stop()
    assert told == Runtime(pretended=True, network_ready=True)
    assert [finding.what for finding in findings] == ["CRI socket", "runtime", "RuntimeReady", "NetworkReady", "images"]
    assert {finding.level for finding in findings} == {Level.OK}
    assert "CRI v1" in findings[1].detail


def test_installation_is_looked_at_without_importing_ray(tmp_path: Path) -> None:
    assert found(doctor_agent.ray, host(tmp_path, {})) == [("Ray", Level.OK)]


@pytest.mark.parametrize(
    ("origin", "level"),
    [("/x/relist.cpython-311-x86_64-linux-gnu.so", Level.OK), ("/x/relist.py", Level.BAD), (None, Level.BAD)],
)
def test_an_agent_cannot_run_without_its_extensions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str | None, level: Level
) -> None:
    spec = ModuleSpec("podherd.native.relist", None, origin=origin) if origin else None
    monkeypatch.setattr(doctor_agent.util, "find_spec", lambda _name: spec)
    monkeypatch.setattr(doctor_agent.machinery, "EXTENSION_SUFFIXES", [".cpython-311-x86_64-linux-gnu.so"])
    assert found(doctor_agent.extension, host(tmp_path, {})) == [("native extensions", level)]


def test_fields_not_acted_on_and_bad_files_are_told(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nvolumePluginDir: /x\n")
    (finding,) = doctor_agent.configuration(host(tmp_path, {}, config=config))
    assert (finding.level, finding.detail) == (Level.WARN, "not acted on yet: volumePluginDir")
    config.write_text("kind: Other\n")
    assert found(doctor_agent.configuration, host(tmp_path, {}, config=config)) == [("configuration", Level.BAD)]
    assert list(doctor_agent.configuration(host(tmp_path, {}))) == []


def test_an_empty_configuration_is_to_hold_a_configuration(tmp_path: Path) -> None:
    (finding,) = doctor_agent.configuration(host(tmp_path, {}, config=Path("/dev/null")))
    assert (finding.detail, finding.mend) == ("is empty", "write a KubeletConfiguration into it, or remove it")


def test_no_agent_is_a_warning(tmp_path: Path) -> None:
    assert found(doctor_agent.agent, host(tmp_path, {})) == [("agent", Level.WARN)]


def test_a_running_agents_actors_and_problems_are_shown(tmp_path: Path, agent: FakeAgent) -> None:
    there = host(tmp_path, {"proc/7/stat": ""}, root_dir=agent.root_dir)
    actors = [
        {"name": name, "pid": pid, "restarts": 1, "at": time.time() - 60} for name, pid in (("pleg", 7), ("old", 8))
    ]
    agent.say("/v1/actors", {"items": actors})
    agent.say("/v1/problems", {"items": [{"thing": "a.yaml", "problem": "spec: bad"}]})
    findings = list(doctor_agent.agent(there))
    assert [(finding.what, finding.level) for finding in findings] == [
        ("agent", Level.OK), ("actor pleg", Level.OK), ("actor old", Level.WARN), ("manifest", Level.WARN),
    ]  # fmt: skip
    assert findings[1].detail == "pid 7, up 60s, 1 restart"
    assert findings[3].detail == "a.yaml: spec: bad"
    agent.say("/v1/problems", {"thing": "x", "reason": "y", "mend": ""}, code=503)
    assert found(doctor_agent.agent, there) == [("agent", Level.WARN)]


def test_a_check_that_breaks_is_a_finding_and_stops_no_other(tmp_path: Path) -> None:
    def broken(_host: Host) -> list[Finding]:
        raise RuntimeError("oops")

    findings = doctor.examine(host(tmp_path, {}, user_id=0), [broken, doctor_host.user])  # type: ignore[list-item]
    assert [finding.level for finding in findings] == [Level.WARN, Level.OK]
    assert "oops" in findings[0].detail


def test_the_report_puts_each_mend_below_its_finding() -> None:
    findings = [doctor.ok("a", "fine"), doctor.bad("b", "broken", "mend it")]
    lines = doctor.report(findings).splitlines()
    assert [line.split() for line in lines] == [["ok", "a", "fine"], ["bad", "b", "broken"], ["->", "mend", "it"]]
    assert (doctor.exit_code(findings), doctor.exit_code(findings[:1])) == (1, 0)


def test_doctor_on_this_host_examines_everything(podherd: Podherd, tmp_path: Path) -> None:
    code, out, err = podherd("doctor", "--root-dir", tmp_path, "--runtime", f"unix://{tmp_path}/none.sock")
    assert (code, err) == (1, "")
    assert "the check failed" not in out
    for what in ("user", "cgroups", "CAP_SYS_RESOURCE", "CRI socket", "Ray", "agent"):
        assert what in out
    assert ("bad   user" in out) is (os.geteuid() != 0)
