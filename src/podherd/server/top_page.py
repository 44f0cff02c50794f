"""The page behind `podherd top`: what pods, containers and the node use, measured when somebody asks."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from podherd.errors import CriError
from podherd.server.replies import BusyError, reply
from podherd.server.usage import Rates, Sample
from podherd.server.usage_sources import NodeUse, node_use

Samples = Callable[[], Awaitable[list[Sample]]]
"""Every running container now: the seam at which another measurer takes the runtime's place. Raises CriError."""

SPAN_S = 1.0
"""Time between two samples when there is none yet, or an old one alone."""
FRESH_S = 0.5
"""An answer is given again within this time: many askers cost no more than one."""
STALE_S = 30.0
"""A sample that is older begins anew: a rate over a longer time says little about now."""


class TopPage:
    """`/v1/top`: `{nodeName, node, items}`. Cores are absent (null) where a container has no rate yet."""

    def __init__(self, samples: Samples, clock: Callable[[], float], node_name: str) -> None:
        self._samples = samples
        self._clock = clock
        self._node_name = node_name
        self._cpus = os.cpu_count() or 1
        self._rates = Rates(self._cpus)
        self._at = 0.0
        self._busy: tuple[float, float] | None = None
        self._answer: dict[str, Any] = {}
        self._measuring = asyncio.Lock()

    async def get(self, request: web.Request) -> web.Response:
        """The figures; the first answer after a while takes SPAN_S. `namespace` narrows the pods."""
        async with self._measuring:
            age_s = self._clock() - self._at
            if not 0 <= age_s < FRESH_S:
                if not 0 <= age_s < STALE_S:
                    await self._measure()
                    await asyncio.sleep(SPAN_S)
                await self._measure()
        namespace = request.query.get("namespace", "")
        items = [item for item in self._answer["items"] if namespace in ("", item["namespace"])]
        return reply({**self._answer, "items": items})

    async def _measure(self) -> None:
        try:
            samples = await self._samples()
        except CriError as error:
            reason = f"does not tell what containers use: {error.reason}"
            raise BusyError("the container runtime", reason, "`podherd doctor` asks it itself") from error
        cores = self._rates.take(samples)
        self._at = self._clock()
        self._answer = {"nodeName": self._node_name, "node": self._node(node_use()), "items": _pods(samples, cores)}

    def _node(self, use: NodeUse) -> dict[str, Any]:
        last, self._busy = self._busy, (self._at, use.busy_s)
        cores = None
        if last and self._at > last[0] and use.busy_s >= last[1]:
            cores = min((use.busy_s - last[1]) / (self._at - last[0]), float(self._cpus))
        return {
            "cpuCores": cores,
            "cpus": self._cpus,
            "memoryBytes": use.memory_bytes,
            "memoryTotalBytes": use.memory_total_bytes,
        }


def _pods(samples: list[Sample], cores: dict[str, float | None]) -> list[dict[str, Any]]:
    """One item a pod, by namespace and name, with its containers by name."""
    by_pod: dict[tuple[str, str, str], list[Sample]] = defaultdict(list)
    for sample in samples:
        by_pod[sample.namespace, sample.pod, sample.uid].append(sample)
    return [_pod(key, by_pod[key], cores) for key in sorted(by_pod)]


def _pod(key: tuple[str, str, str], samples: list[Sample], cores: dict[str, float | None]) -> dict[str, Any]:
    containers = [
        {"name": it.container, "cpuCores": cores.get(it.id), "memoryBytes": it.memory_bytes}
        for it in sorted(samples, key=lambda it: it.container)
    ]
    namespace, name, uid = key
    return {
        "namespace": namespace, "name": name, "uid": uid,
        "cpuCores": _sum([one["cpuCores"] for one in containers]),
        "memoryBytes": _sum([one["memoryBytes"] for one in containers]),
        "containers": containers,
    }  # fmt: skip


def _sum(values: list[Any]) -> Any:
    """The sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
