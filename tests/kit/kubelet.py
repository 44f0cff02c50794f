"""The real kubelet as a node of a test's cluster, to compare podherd with: its defaults, on real containerd.

Nothing here builds it: $PODHERD_KUBELET names it, else it is `kubelet` on PATH.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.kit.cluster import ControlPlane, KubectlError, remove
from tests.kit.cluster_node import bring_up, unmount
from tests.kit.ports import free_ports
from tests.kit.started import Started, end_leftovers

from podherd.agent.provision import Containerd

PREFIX = "podherd-kubelet-"
PLACE = Path("/tmp")
VARIABLE = "PODHERD_KUBELET"
CGROUPS = Path("/sys/fs/cgroup")
READY_S = 60.0
LOOK_S = 0.1
MOVE_S = 5.0


def find(given: str = "") -> str:
    """The program: the one given, else $PODHERD_KUBELET, else the PATH's; empty when there is none."""
    return shutil.which(given or os.environ.get(VARIABLE) or "kubelet") or ""


class KubeletNode:
    """A kubelet that is the node `name` of a cluster; `root` holds everything it writes."""

    def __init__(self, program: str, root: Path, cluster: ControlPlane, runtime: Containerd, name: str) -> None:
        self.root = root
        self.name = name
        self._program = program
        self._cluster = cluster
        self._runtime = runtime
        self._cgroups = cgroup_places(f"{PREFIX}{os.getpid()}-{name}")
        self._started: Started | None = None

    def start(self) -> None:
        """Run it; returns when its Node object says Ready. Raises with the end of its log."""
        bring_up(self._runtime.network)
        for place in self._cgroups:
            place.mkdir(exist_ok=True)
        config = self.root / "config.yaml"
        config.write_text(json.dumps(self._config()))
        flags = [
            f"--config={config}",
            f"--kubeconfig={self._cluster.node_kubeconfig(self.name)}",
            f"--root-dir={self.root / 'kubelet'}",
            f"--cert-dir={self.root / 'pki'}",
            f"--hostname-override={self.name}",
            f"--node-ip={self._runtime.network.gateway}",
        ]
        self._started = Started.begin([self._program, *flags], self.root, "kubelet")
        self._wait_ready(self._started)

    def end(self) -> None:
        """End it; the cgroups that it made for pods that are gone are taken away."""
        if self._started is not None:
            self._started.end()
        remove_cgroups(self._cgroups)

    def log(self) -> str:
        """All that it printed."""
        return (self.root / "kubelet.log").read_text(errors="replace")

    def _config(self) -> dict[str, object]:
        """The defaults, but for what keeps it apart from others on this machine and alive on a full or swapping one."""
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "port": free_ports(1)[0],
            "healthzPort": 0,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._cgroups[0].name}",
            "containerRuntimeEndpoint": self._runtime.endpoint,
            "podLogsDir": str(self.root / "logs"),
            "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True}},
            "authorization": {"mode": "Webhook"},
            "failSwapOn": False,
            "failCgroupV1": False,
            "oomScoreAdj": 0,
            "imageGCHighThresholdPercent": 100,
            "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        }

    def _wait_ready(self, started: Started) -> None:
        deadline = time.monotonic() + READY_S
        while not self._is_ready():
            code = started.exit_code()
            if code is not None or time.monotonic() > deadline:
                what = f"ended with exit code {code}" if code is not None else f"is not Ready after {READY_S:.0f} s"
                raise RuntimeError(f"the kubelet {what}: {self.log()[-3000:]}")
            time.sleep(LOOK_S)

    def _is_ready(self) -> bool:
        try:
            told = self._cluster.get("node", self.name).get("status", {}).get("conditions", ())
        except KubectlError:
            return False
        return any(one["type"] == "Ready" and one["status"] == "True" for one in told)


def cgroup_places(name: str, top: Path = CGROUPS) -> list[Path]:
    """A cgroup of this name in the one hierarchy of v2, or in each of v1."""
    if (top / "cgroup.controllers").exists():
        return [top / name]
    return [place / name for place in sorted(top.iterdir()) if place.is_dir() and not place.is_symlink()]


def remove_cgroups(places: list[Path]) -> None:
    """Those below them too. One that is busy stays: the runtime, which has its processes, is ended after this."""
    for place in places:
        for below in (*sorted(place.rglob("*"), reverse=True), place):
            if below.is_dir():
                with suppress(OSError):
                    below.rmdir()


def sweep() -> None:
    """Take away what an earlier run left that was killed."""
    for place in PLACE.glob(f"{PREFIX}*"):
        owner = place.name.removeprefix(PREFIX)
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            for root in place.iterdir():
                end_leftovers(root)
                remove_cgroups(cgroup_places(f"{place.name}-{root.name}"))
                unmount(root)
            shutil.rmtree(place)


@contextmanager
def own_kubelet(program: str, cluster: ControlPlane, runtime: Containerd, name: str) -> Iterator[KubeletNode]:
    """A kubelet that is a Ready node; at the end it is stopped, its Node object and directories are deleted."""
    sweep()
    root = PLACE / f"{PREFIX}{os.getpid()}" / name
    root.mkdir(parents=True)
    node = KubeletNode(program, root, cluster, runtime, name)
    try:
        node.start()
        yield node
    finally:
        node.end()
        with suppress(KubectlError):
            cluster.kubectl("delete", "node", name, "--ignore-not-found")
        unmount(root)
        remove(root)
