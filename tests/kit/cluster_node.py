"""podherd as a node of a test's cluster: `podherd run --kubeconfig …` in its own processes, on real containerd."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.kit.agent import Agent
from tests.kit.cluster import ControlPlane, KubectlError, remove
from tests.kit.started import end_leftovers

from podherd.agent.provision import Containerd
from podherd.agent.provision.cleaning import MOUNTS, mounts_under
from podherd.agent.provision.network import Network
from podherd.agent.provision.packages import command

PREFIX = "podherd-node-"
PLACE = Path("/tmp")
READY_S = 60.0
LOOK_S = 0.1
STOP_S = 30.0


class ClusterNode(Agent):
    """An agent that is the node `name` of a cluster; `root` holds everything it writes, `root / "agent"` its pods."""

    def __init__(self, root: Path, cluster: ControlPlane, runtime: Containerd, name: str, extra: str = "") -> None:
        super().__init__(root, runtime.endpoint, extra)
        self.name = name
        self.cluster = cluster
        self.runtime = runtime
        self.kubeconfig = cluster.node_kubeconfig(name)

    @property
    def address(self) -> str:
        """The node's IP: that of the pods' bridge, which pods and this machine both reach."""
        return self.runtime.network.gateway

    def start(self, *flags: str) -> None:
        """Run it; `flags` win over the node's own. `wait_ready` tells when it serves."""
        bring_up(self.runtime.network)
        own = ("--node-name", self.name, "--kubeconfig", str(self.kubeconfig), "--node-ip", self.address)
        super().start(*own, *flags)
        (self.root / "agent.pid").write_text(str(self.pid))

    def is_ready(self) -> bool:
        """Whether the API server has a Node object of this name that says Ready."""
        try:
            told = self.cluster.get("node", self.name).get("status", {}).get("conditions", ())
        except KubectlError:
            return False
        return any(one["type"] == "Ready" and one["status"] == "True" for one in told)

    def wait_ready(self, seconds: float = READY_S) -> None:
        """Return once it is; raises with the end of its log when it ends, or does not become ready."""
        deadline = time.monotonic() + seconds
        while not self.is_ready():
            assert self._process is not None
            code = self._process.poll()
            if code is not None or time.monotonic() > deadline:
                what = f"ended with exit code {code}" if code is not None else f"is not Ready after {seconds:.0f} s"
                raise RuntimeError(f"node {self.name} {what}: {self.log()[-3000:]}")
            time.sleep(LOOK_S)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it and return its exit code, as `stop` does, for who has no event loop; its containers run on."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(how)
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise


@contextmanager
def own_node(
    cluster: ControlPlane, runtime: Containerd, name: str, *flags: str, extra: str = ""
) -> Iterator[ClusterNode]:
    """A node that is Ready. extra: more lines of its KubeletConfiguration.

    At the end it is stopped, its Node object and its directories are deleted, and its log is printed, which pytest
    shows of a failed test. Containers that are still there go with the runtime.
    """
    sweep()
    root = PLACE / f"{PREFIX}{os.getpid()}" / name
    root.mkdir(parents=True)
    node = ClusterNode(root, cluster, runtime, name, extra)
    node.start(*flags)
    try:
        node.wait_ready()
        yield node
    finally:
        try:
            node.end()
        finally:
            sys.stdout.write(node.log())
            with suppress(KubectlError):
                cluster.kubectl("delete", "node", name, "--ignore-not-found")
            unmount(root)
            remove(root)


def bring_up(network: Network) -> None:
    """Make the pods' bridge with its address, as its CNI plugin would for the first pod; one that is there is fine."""
    ip = command("ip") or "ip"
    if not Path(f"/sys/class/net/{network.bridge}").exists():
        subprocess.run([ip, "link", "add", "name", network.bridge, "type", "bridge"], check=True)
    address = f"{network.gateway}/{network.subnet.prefixlen}"
    subprocess.run([ip, "address", "replace", address, "dev", network.bridge], check=True)
    subprocess.run([ip, "link", "set", network.bridge, "up"], check=True)


def unmount(root: Path) -> None:
    """Take away mounts below a root, which pods that were still there have."""
    for point in reversed(mounts_under(root, MOUNTS.read_text())):
        subprocess.run([command("umount") or "umount", "--lazy", point], capture_output=True, check=False)


def sweep() -> None:
    """Take away what earlier, killed test runs left."""
    for place in PLACE.glob(f"{PREFIX}*"):
        owner = place.name.removeprefix(PREFIX)
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            for root in place.iterdir():
                end_leftovers(root)
                unmount(root)
                shutil.rmtree(root)
            place.rmdir()
