"""`podherd bench ready`: from the creation of one small pod to Ready, on the nodes of a cluster that is there.

The nodes take turns, so that whatever slows the machine slows all of them. Name podherd's node first and the kubelet's
second, each with a runtime of its own. `make bench-ready` sets such a cluster up.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from podherd.benchmarks.micro.report import machine
from podherd.benchmarks.node import ready_report as report
from podherd.errors import PodherdError
from podherd.kube.connect import connect
from podherd.kube.door import Api, Dropped, Listed, News, Put
from podherd.model.settings import Settings

PODS = "/api/v1/namespaces/default/pods"
LABEL = "podherd-bench"
COMMAND = ["/bin/sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"]
"""Ends at once when it is told to: its end is no part of what is measured."""
READY_WITHIN_S = 120.0
IMAGE = "podherd.local/busybox:1"
ROUNDS = 20
WARM_UPS = 2
DEFAULT = Path("bench-results/ready.json")
KINDS = {"with its token": True, "without a token": False}
"""Kinds of pods, and whether one mounts its service account's token, as pods do by default."""


@dataclass(frozen=True, slots=True)
class Course:
    """What is measured. warm_ups: rounds before those that count. kinds: names of KINDS."""

    kubeconfig: Path
    nodes: Sequence[str]
    image: str = IMAGE
    rounds: int = ROUNDS
    warm_ups: int = WARM_UPS
    kinds: Sequence[str] = tuple(KINDS)


class Follower:
    """Sees every version of the benchmark's pods; says when one is Ready and when one is gone."""

    def __init__(self) -> None:
        self.ready_at: dict[str, float] = {}
        self.here: set[str] = set()
        self.listed = asyncio.Event()
        self.news = asyncio.Event()

    def told(self, news: News) -> None:
        """One piece of news of the watch."""
        self.hear(news, time.monotonic())

    def hear(self, news: News, now: float) -> None:
        """The same, with the time at which it came."""
        match news:
            case Listed(items):
                self.here.clear()
                for item in items:
                    self._see(item, now)
                self.listed.set()
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


def pod_of(name: str, node: str, image: str, token: bool) -> dict[str, Any]:
    """One small pod for this node, past any scheduler. token: with its service account's, which is the default."""
    container = {"name": "app", "image": image, "command": COMMAND, "imagePullPolicy": "IfNotPresent"}
    spec: dict[str, Any] = {"nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 1}
    if not token:
        spec["automountServiceAccountToken"] = False
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {LABEL: "ready"}}, "spec": spec}


async def one(api: Api, seen: Follower, pod: dict[str, Any]) -> float:
    """Seconds from the request of its creation to Ready; the pod is deleted again, and gone, when this returns."""
    name = pod["metadata"]["name"]
    begin = time.monotonic()
    made = await api.create(PODS, pod)
    seen.here.add(name)
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            return await seen.ready(name) - begin
    finally:
        await api.delete(f"{PODS}/{name}", uid=made["metadata"]["uid"])
        async with asyncio.timeout(READY_WITHIN_S):
            await seen.gone(name)


async def measure(course: Course) -> dict[str, dict[str, list[float]]]:
    """Seconds of every counted round, by kind and node.

    Raises PodherdError, and TimeoutError for a pod that does not become Ready.
    """
    api = connect(Settings("bench", Path("/"), "", kubeconfig=course.kubeconfig), 0, 0)
    times: dict[str, dict[str, list[float]]] = {kind: {node: [] for node in course.nodes} for kind in course.kinds}
    async with AsyncExitStack() as stack:
        stack.push_async_callback(api.close)
        seen = Follower()
        following = asyncio.create_task(api.follow(PODS, {"labelSelector": f"{LABEL}=ready"}, seen.told))
        stack.push_async_callback(_ended, following)
        async with asyncio.timeout(READY_WITHIN_S):
            await seen.listed.wait()
        for number in range(course.warm_ups + course.rounds):
            for place, kind in enumerate(course.kinds):
                for node in course.nodes:
                    pod = pod_of(f"ready-{number}-{place}-{node}", node, course.image, KINDS[kind])
                    taken = await one(api, seen, pod)
                    if number >= course.warm_ups:
                        times[kind][node].append(taken)
    return times


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def run(course: Course, out: Path, console: Console, facts: dict[str, Any] | None = None) -> int:
    """Measure, print, write; 0 when the target is kept, 1 when it is not or a pod did not become Ready.

    facts: more of what the figures depend on, for the file.
    """
    try:
        kinds = asyncio.run(measure(course))
    except (PodherdError, TimeoutError) as error:
        console.print(f"[red]{str(error) or 'a pod did not become Ready in time'}[/red]")
        return 1
    console.print(report.table_of(kinds))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report.as_json(kinds, machine() | (facts or {})), indent=1) + "\n", encoding="utf-8")
    console.print(f"written to {out}")
    return 0 if report.passed(kinds) else 1


def add_options(parser: argparse.ArgumentParser) -> None:
    """Those of every way to run this benchmark."""
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="pods of each kind on each node (%(default)s)")
    parser.add_argument("--warm-ups", type=int, default=WARM_UPS, help="rounds that do not count (%(default)s)")
    parser.add_argument("--json", type=Path, default=DEFAULT, metavar="FILE", help="results (default %(default)s)")


def main(arguments: list[str] | None = None) -> int:
    """The exit code of `run`."""
    parser = argparse.ArgumentParser(prog="podherd bench ready", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="of a user who may create pods")
    parser.add_argument("--image", default=IMAGE, help="present on every node (default %(default)s)")
    add_options(parser)
    parser.add_argument("nodes", nargs="+", help="podherd's node, then the one to compare it with")
    given = parser.parse_args(arguments)
    course = Course(given.kubeconfig, given.nodes, given.image, given.rounds, given.warm_ups)
    return run(course, given.json, Console())


if __name__ == "__main__":
    sys.exit(main())
