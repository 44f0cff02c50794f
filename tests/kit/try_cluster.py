"""A Kubernetes cluster of one podherd node, to try things on: `make cluster`. Ctrl-C takes all of it away."""

import signal
import sys
from contextlib import suppress
from types import FrameType

from tests.kit import binaries
from tests.kit.cluster import KUBECTL, ControlPlane, control_plane
from tests.kit.cluster_node import ClusterNode, own_node
from tests.kit.containerd import own_containerd

from podherd.agent.provision import BUSYBOX


def main() -> None:
    """Start it, say how to use it, wait for Ctrl-C or SIGTERM."""
    if reason := binaries.reason_against():
        sys.exit(f"no cluster: {reason}")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    say("starting etcd, API server, controllers, scheduler, containerd and podherd: half a minute")
    with (
        suppress(KeyboardInterrupt),
        control_plane("try") as plane,
        own_containerd("try") as runtime,
        own_node(plane, runtime, "podherd") as node,
    ):
        say(how_to_use(plane, node))
        try:
            signal.pause()
        finally:
            say("ending all of it")


def how_to_use(plane: ControlPlane, node: ClusterNode) -> str:
    """What to type in another terminal."""
    root = node.root / "agent"
    return f"""
The node is Ready. In another terminal:

  export KUBECONFIG={plane.admin_kubeconfig} PODHERD_ROOT={root} PATH={KUBECTL.parent}:$PATH
  kubectl get nodes
  kubectl create deployment web --image={BUSYBOX} -- sleep infinity
  kubectl get pods -o wide; podherd get pods

The agent's log is {node.root / "agent.log"}. Ctrl-C ends and removes everything."""


def say(text: str) -> None:
    """To whoever started it, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
