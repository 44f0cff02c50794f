"""Image pulls of one shard: one of an image, so many at once, so many a second (kubelet behaviour, section 3.6).

The limits of the settings are the node's; shards do not speak to each other, so each has its equal part of them: with
more shards than parallel pulls, one pull each.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from cri_api.v1 import api_pb2 as pb

from podherd.cri.client import Cri
from podherd.errors import CriError
from podherd.model.settings import Settings

SEEN_S = 0.5
"""How long the presence of an image is taken for granted."""
SEEN_MAX = 256


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull that succeeded. took_s: the pull itself; waited_s: with the waiting for its turn.

    image: what the runtime says of it now; None when it did not say.
    """

    ref: str
    took_s: float
    waited_s: float
    image: pb.Image | None


class Rate:
    """A bucket of `burst` tokens that refills by `qps` a second; qps 0 is no limit."""

    def __init__(self, qps: float, burst: int, clock: Callable[[], float]) -> None:
        self._qps = qps
        self._burst = float(max(1, burst))
        self._clock = clock
        self._tokens = self._burst
        self._at = clock()

    def take(self) -> bool:
        """Whether one more may begin now."""
        if self._qps <= 0:
            return True
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._qps)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def of_shard(cri: Cri, settings: Settings, clock: Callable[[], float]) -> "Pulls":
    """The pulls of one of `settings.shards`, with its part of the node's limits."""
    shards = max(1, settings.shards)
    rate = Rate(settings.pull_qps / shards, settings.pull_burst // shards, clock)
    return Pulls(cri, settings.max_parallel_pulls // shards, rate, clock)


class Pulls:
    """Pulls in flight, and what was seen of images a moment ago.

    Who asks for an image that is being pulled waits for that pull. A herd of pods of one image asks the runtime for
    it twice a second and not once a container; an image removed in between fails a create, which is tried again.
    """

    def __init__(self, cri: Cri, parallel: int, rate: Rate, clock: Callable[[], float]) -> None:
        self._cri = cri
        self._turn = asyncio.Semaphore(max(1, parallel))
        self._rate = rate
        self._clock = clock
        self._running: dict[str, asyncio.Task[Pull]] = {}
        self._seen: dict[str, tuple[float, pb.Image]] = {}

    async def status(self, image: str) -> pb.Image | None:
        """The runtime's record of an image that is there, at most SEEN_S old; None when it is not. Raises CriError."""
        if (seen := self._seen.get(image)) is not None and 0 <= self._clock() - seen[0] < SEEN_S:
            return seen[1]
        return await self._look(image)

    async def _look(self, image: str) -> pb.Image | None:
        asked_at = self._clock()
        status = await self._cri.image_status(image)
        self._seen.pop(image, None)
        if status is not None:
            if len(self._seen) >= SEEN_MAX:
                self._seen.clear()
            self._seen[image] = (asked_at, status)
        return status

    async def pull(self, image: str, sandbox_config: pb.PodSandboxConfig) -> Pull:
        """The image, pulled now. Raises CriError. A cancelled caller leaves the pull going, for others or for later."""
        if (task := self._running.get(image)) is None:
            task = asyncio.get_running_loop().create_task(self._pull(image, sandbox_config), name=f"pull {image}")
            self._running[image] = task
            task.add_done_callback(lambda done: self._ended(image, done))
        return await asyncio.shield(task)

    def _ended(self, image: str, task: asyncio.Task[Pull]) -> None:
        del self._running[image]
        if not task.cancelled():
            task.exception()  # seen, even when every caller was cancelled meanwhile

    async def _pull(self, image: str, sandbox_config: pb.PodSandboxConfig) -> Pull:
        asked_at = self._clock()
        async with self._turn:
            if not self._rate.take():
                raise CriError(f"image {image}", "RESOURCE_EXHAUSTED", "pull QPS exceeded")
            began_at = self._clock()
            ref = await self._cri.pull_image(image, sandbox_config)
            ended_at = self._clock()
        return Pull(ref, ended_at - began_at, ended_at - asked_at, await self._status(image))

    async def _status(self, image: str) -> pb.Image | None:
        """Size and user of the image; a failure here is no failure of the pull."""
        try:
            return await self._look(image)
        except CriError:
            return None

    async def close(self) -> None:
        """Give up every pull in flight."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
