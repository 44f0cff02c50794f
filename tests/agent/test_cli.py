"""The command line against a fake agent: output, exit codes, errors with what to do next."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from .conftest import FakeAgent, Podherd

ROOT = Path(__file__).parents[2]

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-n1", "namespace": "default", "uid": "u1", "labels": {"app": "web"}},
    "spec": {
        "nodeName": "n1",
        "restartPolicy": "Always",
        "containers": [
            {"name": "app", "image": "reg.test/web:1", "command": ["/serve", "-v"], "ports": [{"containerPort": 80}],
             "resources": {"limits": {"cpu": "1", "memory": "64Mi"}},
             "volumeMounts": [{"name": "data", "mountPath": "/data"}]},
        ],
        "volumes": [{"name": "data", "emptyDir": {}}],
    },
    "status": {
        "phase": "Running", "podIP": "10.1.0.5", "qosClass": "Burstable",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {"name": "app", "ready": True, "restartCount": 2, "containerID": "containerd://c1",
             "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
             "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"}}},
        ],
    },
}  # fmt: skip


def a_row(name: str = "web-n1", namespace: str = "default") -> dict[str, Any]:
    return {"uid": "u1", "namespace": namespace, "name": name, "source": "file", "phase": "Running", "deleting": False,
            "createdAt": time.time() - 3, "status": POD["status"]}  # fmt: skip


def an_event(count: int = 1) -> dict[str, Any]:
    now = time.time()
    return {"type": "Warning", "reason": "BackOff", "message": "Back-off restarting failed container", "count": count,
            "firstAt": now - 600, "lastAt": now - 30, "fieldPath": "spec.containers{app}"}  # fmt: skip


def test_get_pods_prints_kubectls_table(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pods", {"nodeName": "n1", "items": [a_row(), a_row("db-n1", "infra")]})
    code, out, err = podherd("get", "pods", "--root-dir", agent.root_dir)
    lines = [line.split() for line in out.splitlines()]
    assert (code, err) == (0, "")
    assert lines[0] == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert lines[1][:4] == ["default", "web-n1", "1/1", "Running"]
    assert lines[2][:2] == ["infra", "db-n1"]


def test_get_pods_wide_in_one_namespace(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pods", {"nodeName": "n1", "items": [a_row()]})
    _, out, _ = podherd("get", "po", "-n", "default", "-o", "wide", "--root-dir", agent.root_dir)
    assert out.splitlines()[0].split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE"]
    assert out.splitlines()[1].split()[-2:] == ["10.1.0.5", "n1"]
    assert agent.asked == [("/v1/pods", {"namespace": "default"})]


def test_get_pods_as_json_and_yaml_are_lists_of_v1_pods(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pods", {"items": [POD]})
    _, out, _ = podherd("get", "pods", "-o", "json", "--root-dir", agent.root_dir)
    assert json.loads(out) == {"apiVersion": "v1", "kind": "List", "items": [POD], "metadata": {"resourceVersion": ""}}
    _, out, _ = podherd("get", "pods", "-o", "yaml", "--root-dir", agent.root_dir)
    assert yaml.safe_load(out)["items"] == [POD]
    assert agent.asked[0] == ("/v1/pods", {"full": "1"})


def test_get_one_pod_as_json_is_the_pod_itself(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pod", {"pod": POD, "row": a_row(), "events": []})
    _, out, _ = podherd("get", "pod", "web", "-o", "json", "--root-dir", agent.root_dir)
    assert json.loads(out) == POD
    _, out, _ = podherd("get", "pod", "web", "--root-dir", agent.root_dir)
    assert "web-n1" in out
    assert agent.asked[-1] == ("/v1/pod", {"pod": "web"})


@pytest.mark.parametrize("form", ["table", "json", "name"])
def test_pods_that_are_there_are_printed_beside_the_error_for_one_that_is_not(
    agent: FakeAgent, podherd: Podherd, form: str
) -> None:
    agent.say("/v1/pod", {"pod": POD, "row": a_row(), "events": []})
    agent.miss("gone", {"thing": "pod gone", "reason": "there is no such pod on this node", "mend": "x"})
    code, out, err = podherd("get", "pods", "web", "gone", "-o", form, "--root-dir", agent.root_dir)
    assert (code, "web-n1" in out, "gone" in out) == (1, True, False)
    assert err == "podherd: pod gone: there is no such pod on this node\n  next: x\n"


def test_names_are_in_kubectls_form_and_taken_in_it_again(agent: FakeAgent, podherd: Podherd) -> None:
    root = ("--root-dir", agent.root_dir)
    agent.say("/v1/pods", {"nodeName": "n1", "items": [a_row(), a_row("db-n1", "infra")]})
    assert podherd("get", "pods", "-o", "name", *root)[1] == "pod/web-n1\npod/db-n1\n"
    agent.say("/v1/node", {"node": {"metadata": {"name": "n1"}}})
    assert podherd("get", "node", "-o", "name", *root)[1] == "node/n1\n"
    agent.say("/v1/pod", {"pod": POD, "row": a_row(), "events": []})
    agent.say("/v1/log", b"x")
    for words in (("get", "pod/web"), ("get", "pods", "po/web"), ("describe", "pods/web"), ("describe", "pod", "web"),
                  ("delete", "pod/web"), ("logs", "pod/web")):  # fmt: skip
        podherd(*words, *root)
        assert agent.asked[-1][1]["pod"] == "web", words
    podherd("logs", "pod/infra/web", *root)
    assert agent.asked[-1][1]["pod"] == "infra/web"
    assert podherd("describe", "pod/web", "db", *root)[0] == 2


def test_no_pods_is_said_on_stderr(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pods", {"items": []})
    assert podherd("get", "pods", "--root-dir", agent.root_dir) == (0, "", "No pods on this node.\n")


def test_manifest_problems_are_counted_below_the_pods(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pods", {"nodeName": "n1", "items": [a_row()], "problems": 2, "notReady": ""})
    code, out, err = podherd("get", "pods", "-o", "wide", "--root-dir", agent.root_dir)
    assert (code, len(out.splitlines())) == (0, 2)
    assert err == "2 manifest problems: `podherd doctor` says what is wrong\n"


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("[container runtime is down, PLEG is not healthy]",
         "the runtime at unix:///run/cri.sock does not answer; pods are known once it does\n"),
        ("container runtime network not ready: no CNI",
         "the node is not ready: container runtime network not ready: no CNI\n"),
    ],
)  # fmt: skip
def test_get_pods_says_why_the_node_is_not_ready(agent: FakeAgent, podherd: Podherd, why: str, said: str) -> None:
    agent.say("/v1/pods", {"nodeName": "n1", "items": [], "problems": 0, "notReady": why})
    agent.say("/v1/agent", {"runtimeEndpoint": "unix:///run/cri.sock"})
    assert podherd("get", "pods", "--root-dir", agent.root_dir) == (0, "", f"{said}No pods on this node.\n")


@pytest.mark.parametrize(
    ("own", "mend"), [(True, "end the agent and start it again as before"), (False, "systemctl start containerd")]
)
def test_images_of_a_runtime_that_is_away_name_its_socket_and_the_next_step(
    agent: FakeAgent, podherd: Podherd, own: bool, mend: str
) -> None:
    endpoint = f"unix://{agent.root_dir}/containerd/containerd.sock" if own else "unix:///run/cri.sock"
    agent.say("/v1/images", {"thing": "images", "reason": "CRI ListImages: failed to connect", "mend": ""}, code=404)
    agent.say("/v1/agent", {"runtimeEndpoint": endpoint})
    code, out, err = podherd("get", "images", "--root-dir", agent.root_dir)
    assert (code, out) == (1, "")
    assert f"the runtime at {endpoint} does not answer" in err
    assert mend in err
    assert "ListImages" not in err


def test_all_namespaces_wins_over_a_namespace(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pods", {"items": []})
    assert podherd("get", "pods", "-n", "x", "-A", "--root-dir", agent.root_dir)[0] == 0
    assert agent.asked == [("/v1/pods", {})]


def test_get_node_and_images(agent: FakeAgent, podherd: Podherd) -> None:
    node = {
        "metadata": {"name": "n1", "creationTimestamp": "2020-01-01T00:00:00Z",
                     "labels": {"node-role.kubernetes.io/worker": ""}},
        "status": {"conditions": [{"type": "Ready", "status": "False"}], "nodeInfo": {"kubeletVersion": "v1.37.0"},
                   "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]},
    }  # fmt: skip
    agent.say("/v1/node", {"node": node, "pleg": None})
    _, out, _ = podherd("get", "node", "-o", "wide", "--root-dir", agent.root_dir)
    assert out.splitlines()[1].split()[:3] == ["n1", "NotReady", "worker"]
    assert "10.0.0.9" in out
    _, out, _ = podherd("get", "nodes", "-o", "json", "--root-dir", agent.root_dir)
    assert json.loads(out)["kind"] == "Node"
    image = {"id": "sha256:0123456789abcdef", "repoTags": ["reg.test:5000/a:1"], "repoDigests": ["a@sha256:d"],
             "size": 12345678}  # fmt: skip
    agent.say("/v1/images", {"items": [image, {"id": "x", "size": 5}]})
    _, out, _ = podherd("get", "images", "--root-dir", agent.root_dir)
    rows = [line.split() for line in out.splitlines()[1:]]
    assert rows == [["<none>", "<none>", "x", "5B"], ["reg.test:5000/a", "1", "0123456789abc", "12.3MB"]]


def test_describe_tells_containers_conditions_and_events(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pod", {"pod": POD, "row": a_row(), "events": [an_event(4)], "cause": "file /m/web.yaml created"})
    code, out, _ = podherd("describe", "pod", "web", "--root-dir", agent.root_dir)
    assert code == 0
    squeezed = [" ".join(line.split()) for line in out.splitlines()]
    for line in ("Name: web-n1", "Cause: file /m/web.yaml created",
                 "Labels: app=web", "Status: Running", "IP: 10.1.0.5", "app:", "Image: reg.test/web:1",
                 "State: Running", "Last State: Terminated", "Exit Code: 1", "Restart Count: 2", "Ports: 80/TCP",
                 "Limits: cpu 1, memory 64Mi", "Mounts: /data from data", "data: emptyDir"):  # fmt: skip
        assert line in squeezed, line
    assert "BackOff 30s (x4 over 10m) spec.containers{app} Back-off restarting failed container" in squeezed[-1]


def test_describe_tells_environment_ports_rules_mounts_and_what_volumes_point_to(
    agent: FakeAgent, podherd: Podherd
) -> None:
    field = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    file = {"fileKeyRef": {"volumeName": "data", "path": "app.env", "key": "PORT"}}
    container = {
        "name": "app", "image": "i", "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "UDP"}],
        "restartPolicy": "Never",
        "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42, 43]}}],
        "env": [{"name": "A", "value": "one\ntwo"}, {"name": "B", "valueFrom": field}, {"name": "C", "valueFrom": file},
                {"name": "D", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
        "volumeMounts": [{"name": "logs", "mountPath": "/l", "readOnly": True, "subPath": "web"},
                         {"name": "info", "mountPath": "/i"}],
    }  # fmt: skip
    items = {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}
    volumes = [
        {"name": "logs", "hostPath": {"path": "/var/log", "type": "Directory"}},
        {"name": "info", "projected": {"sources": [{"downwardAPI": items}]}},
        {"name": "data", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "files", "image": {"reference": "reg.test/files:1"}},
    ]
    pod = {**POD, "spec": {"containers": [container], "volumes": volumes}}
    agent.say("/v1/pod", {"pod": pod, "row": a_row(), "events": []})
    squeezed = [
        " ".join(line.split())
        for line in podherd("describe", "pod", "web", "--root-dir", agent.root_dir)[1].splitlines()
    ]
    for line in ("Ports: 80/UDP", "Host Ports: 8080/UDP", "Restart Rules: Restart on exit code In 42, 43",
                 "A: one two", "B: (fieldRef metadata.name)", "C: (fileKeyRef data/app.env PORT)",
                 "D: (resourceFieldRef limits.cpu)", "Mounts: /l from logs (ro, subPath web)", "Mounts: /i from info",
                 "logs: hostPath /var/log type Directory", "info: projected", "labels: fieldRef metadata.labels",
                 "data: emptyDir Memory limit 1Mi", "files: image reg.test/files:1"):  # fmt: skip
        assert line in squeezed, line


def test_describe_shows_the_phase_and_indents_each_line_of_an_argument(agent: FakeAgent, podherd: Podherd) -> None:
    container = {"name": "app", "image": "i", "args": ["-c", "one\ntwo"]}
    ended = {"name": "app", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}
    status = {"phase": "Succeeded", "containerStatuses": [ended]}
    pod = {**POD, "spec": {"containers": [container]}, "status": status}
    row = {**a_row(), "phase": "Succeeded", "status": status}
    agent.say("/v1/pod", {"pod": pod, "row": row, "events": []})
    _, out, _ = podherd("describe", "pod", "web", "--root-dir", agent.root_dir)
    assert "Status:             Succeeded" in out.splitlines()
    assert "    Args:\n      -c\n      one\n      two\n" in out


def test_last_words_stand_in_their_column_and_command_no_terminal(agent: FakeAgent, podherd: Podherd) -> None:
    said = "one\x1b[2J\n\ntwo\n"
    ended = {"name": "app", "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": said}}}
    pod = {**POD, "status": {"phase": "Failed", "containerStatuses": [ended]}}
    event = {**an_event(1), "message": "first\n\x1bsecond"}
    agent.say("/v1/pod", {"pod": pod, "row": a_row(), "events": [event]})
    _, out, _ = podherd("describe", "pod", "web", "--root-dir", agent.root_dir)
    assert f"      Message:      one [2J\n\n{' ' * 20}two\n      Exit Code:" in out
    assert "first  second\n" in out
    assert "\x1b" not in out


def test_logs_passes_the_words_on_and_prints_bytes_as_they_are(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/log", "größe\nno newline".encode(), **{"X-Podherd-Note": 'Defaulted container "app" out of: app, b'})
    words = ("logs", "web", "-c", "app", "--tail", "5", "--previous", "-f", "--root-dir", agent.root_dir)
    assert podherd(*words) == (0, "größe\nno newline", 'Defaulted container "app" out of: app, b\n')
    query = {"pod": "web", "container": "app", "tail": "5", "previous": "1", "follow": "1"}
    assert agent.asked == [("/v1/log", query)]


def test_logs_times_and_limits_are_asked_for(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/log", b"")
    root = ("--root-dir", agent.root_dir)
    podherd("logs", "web", "--timestamps", "--since", "1m30.2s", "--limit-bytes", "10", *root)
    podherd("logs", "web", "--since-time", "2026-01-02T03:04:05Z", *root)
    assert [query for _, query in agent.asked] == [
        {"pod": "web", "timestamps": "1", "sinceSeconds": "91", "limitBytes": "10"},
        {"pod": "web", "sinceTime": "2026-01-02T03:04:05Z"},
    ]
    assert podherd("logs", "web", "--since", "soon", *root)[0] == 2


def test_describe_shows_every_kind_of_container(agent: FakeAgent, podherd: Podherd) -> None:
    kinds = {
        "initContainers": [{"name": "first", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}],
        "containers": [{"name": "app", "image": "i"}],
        "ephemeralContainers": [{"name": "debug", "image": "i", "targetContainerName": "app"}],
    }
    waiting = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 3}
    status = {"phase": "Pending", "initContainerStatuses": [{"name": "first", **waiting}]}
    agent.say("/v1/pod", {"pod": {**POD, "spec": kinds, "status": status}, "row": a_row(), "events": []})
    _, out, _ = podherd("describe", "pod", "web", "--root-dir", agent.root_dir)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    order = [
        "Init Containers:", "first:", "Reason: CrashLoopBackOff", "Restart Count: 3", "side:", "Restart Policy: Always",
        "Containers:", "app:", "Ephemeral Containers:", "debug:", "Target: app",
    ]  # fmt: skip
    at = -1
    for line in order:
        at = lines.index(line, at + 1)


@pytest.mark.parametrize(
    ("source", "cause", "said"),
    [
        ("file", "file /m/my pods/web.yaml changed", "comes from /m/my pods/web.yaml"),
        ("file", "", "comes from a file of the manifest directory"),
        ("http", "http https://host/pods changed", "comes from https://host/pods"),
        ("api", "", "comes from the API server"),
        ("", "", "no source is known to want it"),
    ],
)
def test_delete_names_whose_the_pod_is(agent: FakeAgent, podherd: Podherd, source: str, cause: str, said: str) -> None:
    row = {**a_row(), "source": source}
    agent.say("/v1/pod", {"pod": POD, "row": row, "events": [], "cause": cause})
    code, out, err = podherd("delete", "pod", "web", "--root-dir", agent.root_dir)
    assert (code, out, said in err, "next:" in err) == (1, "", True, True), err


def test_a_pod_on_its_way_out_needs_no_deletion(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pod", {"pod": POD, "row": {**a_row(), "deleting": True}, "events": []})
    code, _, err = podherd("delete", "pod", "web", "--root-dir", agent.root_dir)
    assert (code, "is being stopped already" in err) == (1, True)


def test_tail_zero_is_asked_for_and_minus_one_is_all(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/log", b"")
    podherd("logs", "web", "--tail", "0", "--root-dir", agent.root_dir)
    podherd("logs", "web", "--tail", "-1", "--root-dir", agent.root_dir)
    assert [query.get("tail") for _, query in agent.asked] == ["0", None]


def test_the_agents_error_is_shown_with_the_next_step(agent: FakeAgent, podherd: Podherd) -> None:
    error = {"thing": "pod wep", "reason": "there is no such pod on this node", "mend": "near it: default/web-n1"}
    agent.say("/v1/pod", error, code=404)
    expected = "podherd: pod wep: there is no such pod on this node\n  next: near it: default/web-n1\n"
    assert podherd("describe", "pod", "wep", "--root-dir", agent.root_dir) == (1, "", expected)


def test_an_answer_that_is_no_json_is_an_error_too(agent: FakeAgent, podherd: Podherd) -> None:
    agent.say("/v1/pods", b"<html>boom", code=500)
    code, _, err = podherd("get", "pods", "--root-dir", agent.root_dir)
    assert (code, "HTTP 500: <html>boom" in err) == (1, True)


def test_no_agent_says_so_and_how_to_start_one(tmp_path: Any, podherd: Podherd) -> None:
    code, out, err = podherd("get", "pods", "--root-dir", tmp_path)
    assert (code, out) == (1, "")
    assert f"no podherd runs with the root directory {tmp_path}" in err
    assert f"podherd run --root-dir {tmp_path}" in err


def test_the_root_directory_comes_from_the_environment(
    agent: FakeAgent, podherd: Podherd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODHERD_ROOT", str(agent.root_dir))
    agent.say("/v1/pods", {"items": []})
    assert podherd("get", "pods")[0] == 0


@pytest.mark.parametrize(
    "words",
    [("get", "cats"), ("get",), ("describe", "pod"), ("nothing",), ("logs", "web", "--tail", "x"),
     ("get", "pods", "-o", "x"), ("run", "--shards", "0"), ("run", "--nonsense"),
     ("run", "--file-check-frequency", "20"),
     ("run", "--runtime", "tcp://x"), ("run", "--manifest-url", "nope"), ("run", "--manifest-url-header", "nope"),
     ("run", "--kubeconfig", "/x"), ("run", "--config", "/no/such/file")],
)  # fmt: skip
def test_usage_errors_exit_2_and_say_something(podherd: Podherd, words: tuple[str, ...]) -> None:
    code, _, err = podherd(*words)
    assert code == 2
    assert err.strip()


def test_a_run_without_a_source_of_pods_says_so(
    podherd: Podherd, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import podherd.agent.parent as parent

    monkeypatch.setattr(parent, "run", lambda *_: 0)
    words = ("run", "--runtime", "hollow", "--no-watch", "--root-dir", tmp_path / "root")
    assert "no pods are configured: give --manifests" in podherd(*words)[1]
    assert "no pods are configured" not in podherd(*words, "--manifests", tmp_path)[1]


def test_a_run_with_an_api_server_needs_no_other_source_of_pods(
    podherd: Podherd, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import podherd.agent.parent as parent

    seen: list[Any] = []
    monkeypatch.setattr(parent, "run", lambda settings, *_: seen.append(settings) or 0)
    (tmp_path / "kubeconfig").touch()
    words = ("run", "--runtime", "hollow", "--no-watch", "--root-dir", tmp_path / "root", "--kubeconfig",
             tmp_path / "kubeconfig", "--register-node=false", "--node-ip", "192.0.2.9", "--node-labels", "a=b",
             "--register-with-taints", "k=v:NoSchedule", "--max-pods", "5")  # fmt: skip
    code, out, _ = podherd(*words)
    assert code == 0
    assert "no pods are configured" not in out
    (settings,) = seen
    assert (settings.register_node, settings.node_ips, settings.node_labels) == (False, ("192.0.2.9",), (("a", "b"),))
    assert (settings.node_taints, settings.pods_capacity) == ((("k", "v", "NoSchedule"),), 5)


def test_a_kubeconfig_that_is_not_there_is_named(podherd: Podherd) -> None:
    _, _, err = podherd("run", "--kubeconfig", "/no/such/kubeconfig")
    assert "kubeconfig /no/such/kubeconfig: there is no such file" in err


def test_version_is_the_packages(podherd: Podherd) -> None:
    from podherd import __version__

    assert podherd("version") == (0, f"podherd {__version__}\n", "")
    assert podherd("--version") == (0, f"podherd {__version__}\n", "")


@pytest.mark.parametrize("words", [("get", "cats"), ("get", "pods", "-o", "x"), ("describe", "cat", "x")])
def test_a_wrong_choice_names_the_right_ones_and_no_library(podherd: Podherd, words: tuple[str, ...]) -> None:
    _, _, err = podherd(*words)
    assert "is none of" in err
    assert "Value error" not in err


def test_usage_lines_name_each_argument_once(podherd: Podherd) -> None:
    assert "describe [OPTIONS] {pod} [POD]" in podherd("describe", "--help")[1]
    assert podherd("hollow", "--help")[1].startswith("usage: podherd hollow ")


def test_a_runtime_that_is_a_name_is_refused_with_an_example(podherd: Podherd) -> None:
    for command in ("run", "doctor"):
        code, _, err = podherd(command, "--runtime", "docker")
        assert code == 2
        assert "unix:///run/containerd/containerd.sock" in err


def test_a_configuration_that_is_no_yaml_has_a_next_step(podherd: Podherd, tmp_path: Any) -> None:
    (tmp_path / "c.yaml").write_text("a: [")
    _, _, err = podherd("run", "--config", tmp_path / "c.yaml")
    assert "is not YAML: line 2" in err
    assert "next: correct it" in err


def _to(agent: FakeAgent, stdout: Any) -> subprocess.CompletedProcess[str]:
    agent.say("/v1/pods", {"items": [a_row()]})
    command = [sys.executable, "-m", "podherd.agent.cli", "get", "pods", "--root-dir", str(agent.root_dir)]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def test_output_that_cannot_be_written_is_one_line(agent: FakeAgent) -> None:
    with open("/dev/full", "w") as full:
        done = _to(agent, full)
    assert (done.returncode, done.stderr) == (1, "podherd: output: cannot be written: No space left on device\n")


def test_a_reader_that_has_seen_enough_is_told_nothing(agent: FakeAgent) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = _to(agent, writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom podherd.agent import cli\ncode = cli.call(['--help'])\n"
        "heavy = {'ray', 'grpc', 'rich.console', 'aiohttp', 'yaml', 'structlog', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(code or bool(heavy) and ' '.join(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "describe" in done.stdout


def test_each_command_is_told_in_one_line_of_the_help_and_in_the_readme(podherd: Podherd) -> None:
    lines = podherd("--help")[1].partition("Commands:\n")[2].splitlines()
    assert [line for line in lines if line.endswith("...")] == []
    readme = (ROOT / "README.md").read_text()
    assert [line for line in lines if f"podherd {line.split()[0]}" not in readme] == []
    assert len(lines) > 10


def test_bench_and_hollow_pass_their_words_on(podherd: Podherd, monkeypatch: pytest.MonkeyPatch) -> None:
    import podherd.benchmarks.node.start as start
    import podherd.hollow.command as command

    heard: list[list[str]] = []
    monkeypatch.setattr(start, "main", lambda words: heard.append(words) or 3)
    monkeypatch.setattr(command, "main", lambda words: heard.append(words))
    assert podherd("bench", "start", "--pods", "10", "--help")[0] == 3
    assert podherd("hollow", "--socket", "/x")[0] == 0
    assert heard == [["--pods", "10", "--help"], ["--socket", "/x"]]
