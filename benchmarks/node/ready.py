"""`podherd bench ready`: from the creation of one small pod to Ready, on the nodes of a cluster that is there.

The nodes take turns, so that whatever slows the machine slows all of them. Name podherd's node first and the kubelet's
second, each with a runtime of its own.
"""

import argparse
import asyncio
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from podherd.errors import PodherdError
from podherd.kube.connect import connect
from podherd.kube.door import Api, Dropped, Listed, News, Put, Query
from podherd.model.settings import Settings

PODS = "/api/v1/namespaces/default/pods"
READY_WITHIN_S = 120.0
TARGET = 1.1
"""At most so many times the second node's time."""


class Follower:
    """Sees every version of the benchmark's pods; says when one is Ready and when one is gone."""

    def __init__(self) -> None:
        self.ready_at: dict[str, float] = {}
        self.here: set[str] = set()
        self.news = asyncio.Event()

    def told(self, news: News) -> None:
        """One piece of news of the watch."""
        now = time.monotonic()
        match news:
            case Listed(items):
                for item in items:
                    self._see(item, now)
            case Put(body):
                self._see(body, now)
            case Dropped(body):
                self.here.discard(body["metadata"]["name"])
        self.news.set()

    def _see(self, pod: dict[str, Any], now: float) -> None:
        name = pod["metadata"]["name"]
        self.here.add(name)
        conditions = pod.get("status", {}).get("conditions", ())
        if any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
            self.ready_at.setdefault(name, now)

    async def ready(self, name: str) -> float:
        """When the pod was first seen Ready."""
        while name not in self.ready_at:
            self.news.clear()
            await self.news.wait()
        return self.ready_at[name]

    async def gone(self, name: str) -> None:
        """Return once the pod is there no more."""
        while name in self.here:
            self.news.clear()
            await self.news.wait()


def pod_of(name: str, node: str, image: str) -> dict[str, Any]:
    """One small pod for this node, past any scheduler."""
    container = {"name": "app", "image": image, "command": ["sleep", "3600"], "imagePullPolicy": "IfNotPresent"}
    spec = {
        "nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
    }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"bench": "ready"}}, "spec": spec}


async def one(api: Api, seen: Follower, name: str, node: str, image: str) -> float:
    """Seconds from the creation to Ready; the pod is deleted again, and gone, when this returns."""
    begin = time.monotonic()
    await api.create(PODS, pod_of(name, node, image))
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            return await seen.ready(name) - begin
    finally:
        await api.delete(f"{PODS}/{name}")
        async with asyncio.timeout(READY_WITHIN_S):
            await seen.gone(name)


async def measure(kubeconfig: Path, nodes: list[str], image: str, rounds: int) -> dict[str, list[float]]:
    """Seconds of every round, by node. Raises PodherdError, and TimeoutError for a pod that does not become Ready."""
    api = connect(Settings("bench", Path("/"), "", kubeconfig=kubeconfig), 0, 0)
    seen = Follower()
    query: Query = {"labelSelector": "bench=ready"}
    following = asyncio.create_task(api.follow(PODS, query, seen.told))
    times: dict[str, list[float]] = {node: [] for node in nodes}
    try:
        for number in range(rounds):
            for node in nodes:
                times[node].append(await one(api, seen, f"ready-{number}-{node}", node, image))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await api.close()
    return times


def table_of(times: dict[str, list[float]]) -> Table:
    """Figures by node, and each one's ratio to the last node named."""
    table = Table(title="creation to Ready, one pod at a time", caption=f"Target: at most {TARGET}x the second node's")
    for head in ("node", "pods", "median s", "least s", "most s", "ratio"):
        table.add_column(head, justify="left" if head == "node" else "right")
    last = statistics.median(list(times.values())[-1])
    for node, all_s in times.items():
        median = statistics.median(all_s)
        cells = [f"{median:.3f}", f"{min(all_s):.3f}", f"{max(all_s):.3f}", f"{median / last:.2f}"]
        table.add_row(node, str(len(all_s)), *cells)
    return table


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 when a pod did not become Ready in time, or the server could not be asked."""
    parser = argparse.ArgumentParser(prog="podherd bench ready", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="of a user who may create pods")
    parser.add_argument("--image", default="podherd.local/busybox:1", help="present on every node")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("nodes", nargs="+", help="podherd's node, then the one to compare it with")
    options = parser.parse_args(arguments)
    console = Console()
    try:
        times = asyncio.run(measure(options.kubeconfig, options.nodes, options.image, options.rounds))
    except (PodherdError, TimeoutError) as error:
        console.print(f"[red]{error or 'a pod did not become Ready in time'}[/red]")
        return 1
    console.print(table_of(times))
    return 0


if __name__ == "__main__":
    sys.exit(main())
