"""The real control plane of the tests: it is up, knows its users, keeps its data, and leaves nothing behind."""

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.kit.api import Api
from tests.kit.certificates import signing_request
from tests.kit.cluster import PLACE, PREFIX, ControlPlane, KubectlError, sweep
from tests.kit.processes import command_line
from tests.kit.waiting import until

from podherd.agent import procs

NODE = "kit-node"
NODE_BODY = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: kit}
spec:
  replicas: 2
  selector: {matchLabels: {app: kit}}
  template:
    metadata: {labels: {app: kit}}
    spec: {containers: [{name: main, image: podherd.local/busybox:1}]}
"""
BARE_POD = """
apiVersion: v1
kind: Pod
metadata: {name: bare}
spec: {nodeName: kit-node, containers: [{name: main, image: podherd.local/busybox:1}]}
"""
KEPT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n"


def test_kubectl_talks_to_it(control_plane: ControlPlane) -> None:
    assert json.loads(control_plane.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"].startswith("v1.")
    names = [item["metadata"]["name"] for item in control_plane.get("namespaces")["items"]]
    assert {"default", "kube-system", "kube-node-lease"} <= set(names)


async def test_its_controllers_make_pods(control_plane: ControlPlane) -> None:
    control_plane.apply(DEPLOYMENT)
    try:
        await until(lambda: len(control_plane.get("pods", "-l", "app=kit")["items"]) == 2)
        pod = control_plane.get("pods", "-l", "app=kit")["items"][0]
        assert pod["spec"]["serviceAccountName"] == "default"
    finally:
        control_plane.kubectl("delete", "deployment", "kit", "--cascade=foreground")


def test_a_node_may_be_itself_and_no_other(control_plane: ControlPlane) -> None:
    config = control_plane.node_kubeconfig(NODE)
    control_plane.kubectl("create", "-f", "-", stdin=NODE_BODY, kubeconfig=config)
    try:
        assert control_plane.kubectl("get", "node", NODE, "-o", "name", kubeconfig=config) == f"node/{NODE}\n"
        with pytest.raises(KubectlError, match="only its own Node object"):
            control_plane.kubectl("get", "nodes", kubeconfig=config)
        with pytest.raises(KubectlError, match="forbidden"):
            control_plane.kubectl("get", "secrets", "--all-namespaces", kubeconfig=config)
        with pytest.raises(KubectlError, match="is not allowed to modify node"):
            control_plane.kubectl("create", "-f", "-", stdin=NODE_BODY.replace(NODE, "other"), kubeconfig=config)
    finally:
        control_plane.kubectl("delete", "node", NODE)


def test_a_user_without_groups_may_nothing(control_plane: ControlPlane) -> None:
    with pytest.raises(KubectlError, match='User "nobody" cannot list'):
        control_plane.kubectl("get", "pods", kubeconfig=control_plane.kubeconfig_for("nobody"))


async def test_a_bootstrap_token_gets_a_node_certificate_signed(control_plane: ControlPlane, tmp_path: Path) -> None:
    config = control_plane.bootstrap_kubeconfig()
    request = signing_request(tmp_path / "node.key", f"system:node:{NODE}", ["system:nodes"])
    body = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "kit"},
        "spec": {
            "request": base64.b64encode(request).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"],
        },
    }
    control_plane.kubectl("create", "-f", "-", stdin=json.dumps(body), kubeconfig=config)
    try:
        await until(lambda: control_plane.get("csr", "kit")["status"].get("certificate"))
    finally:
        control_plane.kubectl("delete", "csr", "kit")
    with pytest.raises(KubectlError, match="forbidden"):
        control_plane.kubectl("get", "pods", kubeconfig=config)


def test_a_killed_api_server_comes_back_with_its_data_on_its_port(own_control_plane: ControlPlane) -> None:
    cluster = own_control_plane
    cluster.apply(KEPT)
    cluster.stop_api()
    with pytest.raises(KubectlError, match="refused"):
        cluster.get("configmap", "kept")
    cluster.start_api()
    assert cluster.get("configmap", "kept")["data"] == {"a": "b"}


async def test_a_paused_api_server_answers_nothing_until_it_is_resumed(own_control_plane: ControlPlane) -> None:
    own_control_plane.pause_api()
    with Api(own_control_plane, answer_s=0.5) as api, pytest.raises(TimeoutError):
        api.request("GET", "/readyz")
    own_control_plane.resume_api()
    await until(own_control_plane.is_ready)


def test_without_controllers_a_pod_with_a_node_is_taken(control_planes: Callable[..., Any]) -> None:
    with control_planes("bare", controllers=False) as cluster:
        cluster.apply(BARE_POD)
        assert cluster.get("pod", "bare")["spec"]["nodeName"] == NODE
        assert set(cluster.pids) == {"etcd", "kube-apiserver"}


def test_nothing_is_left_of_it(control_planes: Callable[..., Any]) -> None:
    with control_planes("gone", controllers=False) as cluster:
        pids, home = cluster.pids.values(), cluster.home
        assert all(str(home).encode() in command_line(pid) for pid in pids)
    assert all(procs.is_dead(pid) for pid in pids)
    assert not home.exists()


LEAVER = """
import os, signal, sys
from tests.kit.certificates import signing_request
from tests.kit.cluster import control_plane
with control_plane("left", controllers=False) as cluster:
    print(os.getpid(), *cluster.pids.values(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_test_run_left_is_swept(control_planes: Callable[..., Any]) -> None:  # noqa: ARG001 the programs are there
    root = Path(__file__).parents[2]
    left = subprocess.run([sys.executable, "-c", LEAVER], cwd=root, capture_output=True, text=True, check=False)
    assert left.returncode == -signal.SIGKILL, left.stderr
    owner, *pids = map(int, left.stdout.split())
    assert all(not procs.is_dead(pid) for pid in pids)
    sweep()
    assert all(procs.is_dead(pid) for pid in pids)
    assert not (PLACE / f"{PREFIX}{owner}").exists()
