"""A whole agent joins a cluster by a bootstrap token or a Node that somebody made; its pods end with the machine."""

import asyncio
import json
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.kit.cluster import ControlPlane
from tests.kit.cluster_node import own_node
from tests.kit.logind import own_bus, own_logind
from tests.kit.namespace import Namespace, own_namespace
from tests.kit.waiting import until

from podherd.agent.provision import BUSYBOX, Containerd

NUMBERS = count(1)
LONG_S = 60.0
GRACE = "shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s\n"
MESSAGE = "Pod was terminated in response to imminent node shutdown."


def pod(name: str, node: str, priority: str = "") -> str:
    """One that runs until it is told to stop."""
    loop = "trap 'exit 0' TERM; while :; do sleep 0.1; done"
    spec = {
        "nodeName": node,
        "automountServiceAccountToken": False,
        "containers": [{"name": "main", "image": BUSYBOX, "command": ["/bin/sh", "-c", loop]}],
        **({"priorityClassName": priority} if priority else {}),
    }
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})


def test_an_agent_with_a_bootstrap_token_gets_its_certificate_and_is_a_node_as_its_own_user(
    control_plane: ControlPlane, runtime: Containerd, tmp_path: Path
) -> None:
    name, later = "join-1", tmp_path / "kubelet.conf"
    first = control_plane.bootstrap_kubeconfig()
    with own_node(
        control_plane, runtime, name, "--kubeconfig", str(later), "--bootstrap-kubeconfig", str(first),
        extra="rotateCertificates: true\n",
    ) as node:  # fmt: skip
        asked = json.loads(control_plane.kubectl("auth", "whoami", "-o", "json", kubeconfig=later))
        assert asked["status"]["userInfo"]["username"] == f"system:node:{name}"
        assert (node.root / "agent" / "pki" / "kubelet-client-current.pem").is_symlink()
        requests = control_plane.get("csr")["items"]
        mine = [each for each in requests if each["spec"]["signerName"].endswith("kube-apiserver-client-kubelet")]
        assert any(each["spec"]["username"].startswith("system:bootstrap:") for each in mine)


def test_an_agent_that_is_not_to_register_serves_the_node_that_somebody_made(
    control_plane: ControlPlane, runtime: Containerd
) -> None:
    name = "given-2"
    control_plane.apply(f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{own: x}}}}\n")
    made = control_plane.get("node", name)
    flags = ("--register-node=false", "--node-labels", "disk=ssd")
    with own_node(control_plane, runtime, name, *flags):
        node = control_plane.get("node", name)
        assert node["metadata"]["uid"] == made["metadata"]["uid"]
        labels = node["metadata"]["labels"]
        assert (labels["own"], labels["kubernetes.io/os"]) == ("x", "linux")
        assert not {"disk", "kubernetes.io/hostname"} & labels.keys()
        with own_namespace(control_plane, f"given-{next(NUMBERS)}") as namespace:
            namespace.apply(pod("web", name))
            namespace.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")


async def status(namespace: Namespace, name: str) -> dict[str, Any]:
    """The pod's."""
    found = await asyncio.to_thread(namespace.get, "pod", name)
    return dict(found["status"])


async def has_failed(namespace: Namespace, name: str) -> bool:
    return (await status(namespace, name))["phase"] == "Failed"


async def test_pods_end_with_the_machine_new_ones_are_refused_and_the_node_is_back_when_it_is_called_off(
    control_plane: ControlPlane, runtime: Containerd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "down-1"
    with ExitStack() as stack:
        bus = stack.enter_context(own_bus(tmp_path))
        monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.address)
        async with own_logind(bus, tmp_path / "conf", longest_s=60) as logind:
            node = own_node(control_plane, runtime, name, extra=GRACE)
            ready = await asyncio.to_thread(stack.enter_context, node)
            namespace = stack.enter_context(own_namespace(control_plane, f"down-{next(NUMBERS)}"))
            await until(lambda: logind.held() == 1)
            both = "\n---\n".join((pod("web", name), pod("agent", name, "system-node-critical")))
            await asyncio.to_thread(namespace.apply, both)
            wait = ("wait", "--for=condition=Ready", "pod/web", "pod/agent", "--timeout=60s")
            await asyncio.to_thread(namespace.kubectl, *wait)

            logind.tell(True)
            await until(lambda: logind.held() == 0, LONG_S)
            for each in ("web", "agent"):
                await until(lambda each=each: has_failed(namespace, each))
                told = await status(namespace, each)
                assert (told["reason"], told["message"]) == ("Terminated", MESSAGE)
                reasons = {one["type"]: one.get("reason") for one in told["conditions"]}
                assert reasons["DisruptionTarget"] == "TerminationByKubelet"
            found = await asyncio.to_thread(control_plane.get, "node", name)
            last = found["status"]["conditions"][-1]
            assert (last["type"], last["status"], last["message"]) == ("Ready", "False", "node is shutting down")
            await asyncio.to_thread(namespace.apply, pod("late", name))
            await until(lambda: has_failed(namespace, "late"))
            assert (await status(namespace, "late"))["reason"] == "NodeShutdown"

            logind.tell(False)
            await until(lambda: asyncio.to_thread(ready.is_ready), LONG_S)
            await until(lambda: logind.held() == 1)
