"""`make bench-ready`: podherd and the real kubelet as the two nodes of a cluster made for it, one pod at a time.

Both run on the same version of containerd, each with one of its own, and with their defaults.
"""

import argparse
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from tests.kit import binaries, kubelet
from tests.kit.cluster import control_plane
from tests.kit.cluster_node import own_node
from tests.kit.containerd import own_containerd

from podherd.agent.provision.packages import command
from podherd.benchmarks.node import ready


def main(arguments: list[str] | None = None) -> int:
    """The exit code: that of the benchmark; 2 without a kubelet or a control plane."""
    parser = argparse.ArgumentParser(prog="make bench-ready", description=__doc__)
    parser.add_argument("--kubelet", default="", help=f"default: ${kubelet.VARIABLE}, else PATH's")
    ready.add_options(parser)
    given = parser.parse_args(arguments)
    console = Console()
    if not (program := kubelet.find(given.kubelet)):
        console.print(f"[red]no kubelet: give --kubelet, set ${kubelet.VARIABLE}, or put it on PATH[/red]")
        return 2
    if reason := binaries.reason_against():
        console.print(f"[red]no control plane: {reason}[/red]")
        return 2
    binaries.Build().finish()
    return side_by_side(program, given, console)


def side_by_side(program: str, given: argparse.Namespace, console: Console) -> int:
    """Set everything up, measure, take everything away."""
    facts = {"containerd": version(command("containerd") or "containerd"), "kubelet": version(program)}
    console.print(f"{facts['kubelet']} and podherd, each on {facts['containerd']}; setting up, about a minute")
    with ExitStack() as stack:
        cluster = stack.enter_context(control_plane("bench"))
        cluster.kubectl("wait", "--for=create", "configmap/kube-root-ca.crt", "--timeout=30s")
        nodes = ("podherd", "kubelet")
        first, second = (stack.enter_context(own_containerd(f"bench-{name}")) for name in nodes)
        stack.enter_context(kubelet.own_kubelet(program, cluster, second, nodes[1]))
        stack.enter_context(own_node(cluster, first, nodes[0]))
        course = ready.Course(cluster.admin_kubeconfig, nodes, rounds=given.rounds, warm_ups=given.warm_ups)
        return ready.run(course, given.json, console, facts)


def version(program: str) -> str:
    """Its name and version, without the hash of its source."""
    words = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()
    return f"{Path(program).name} {next(word for word in words if word.lstrip('v')[:1].isdecimal())}"


if __name__ == "__main__":
    sys.exit(main())
