"""Image pulls of one shard: one of an image, so many at once, so many a second (kubelet behaviour, section 3.6).

Two shards may each pull the same image: the runtime fetches a layer once. All limits are the node's (pull_limits).
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from cri_api.v1 import api_pb2 as pb

from podherd.cri.client import Cri
from podherd.errors import CriError
from podherd.model.docker_config import Auth
from podherd.model.pull_record import Source
from podherd.model.settings import Settings
from podherd.steps.pull_limits import Places, Rate, SharedRate
from podherd.steps.pull_records import PullRecords

SEEN_S = 0.5
"""How long the presence of an image is taken for granted."""
SEEN_MAX = 256
_Key = tuple[str, tuple[Auth, ...]]
Sources = Mapping[Auth, Source]
"""Of which Secret or service account of the pod a credential is; those that are not in it are the node's."""


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull that succeeded. took_s: the pull itself; waited_s: with the waiting for its turn.

    image: what the runtime says of it now; None when it did not say.
    """

    ref: str
    took_s: float
    waited_s: float
    image: pb.Image | None


def of_shard(cri: Cri, settings: Settings, clock: Callable[[], float]) -> "Pulls":
    """The pulls of one shard, within limits that all shards of this root directory keep together."""
    place = settings.root_dir / "pulls"
    rate = SharedRate(place / "rate", settings.pull_qps, settings.pull_burst, clock)
    parallel = settings.max_parallel_pulls
    return Pulls(cri, parallel, rate, clock, Places(place, parallel), PullRecords(settings, clock))


class Pulls:
    """Pulls in flight, and what was seen of images a moment ago.

    Who asks for an image that is being pulled, with the same credentials, waits for that pull. A herd of pods of one
    image asks the runtime for it twice a second and not once a container; an image removed in between fails a create,
    which is tried again.
    """

    def __init__(
        self,
        cri: Cri,
        parallel: int,
        rate: Rate,
        clock: Callable[[], float],
        places: Places | None = None,
        records: PullRecords | None = None,
    ) -> None:
        self._cri = cri
        self._turn = asyncio.Semaphore(max(1, parallel))
        self._places = places
        self._records = records
        self._rate = rate
        self._clock = clock
        self._running: dict[_Key, asyncio.Task[Pull]] = {}
        self._pulling: set[str] = set()
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

    def admits(self, image: str, ref: str, sources: Callable[[], tuple[Source, ...]]) -> bool:
        """Whether a pod may use an image that is there, `ref` to the runtime, without a pull (`PullRecords.admits`)."""
        return self._records is None or self._records.admits(image, ref, sources)

    async def pull(
        self,
        image: str,
        sandbox_config: pb.PodSandboxConfig,
        auths: tuple[Auth, ...] = (),
        sources: Sources | None = None,
    ) -> Pull:
        """The image, pulled now, with the first of the credentials that works; without any where there are none.

        sources: of which of the pod's objects they are. Raises PodherdError. A cancelled caller leaves the pull going,
        for others or for later.
        """
        key = image, auths
        if (task := self._running.get(key)) is None:
            work = self._pull(image, sandbox_config, auths, sources or {})
            task = asyncio.get_running_loop().create_task(work, name=f"pull {image}")
            self._running[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    def is_pulling(self, image: str) -> bool:
        """Whether the runtime is pulling it now; False also while it waits for its turn."""
        return image in self._pulling

    def _ended(self, key: _Key, task: asyncio.Task[Pull]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # seen, even when every caller was cancelled meanwhile

    async def _pull(
        self, image: str, sandbox_config: pb.PodSandboxConfig, auths: tuple[Auth, ...], sources: Sources
    ) -> Pull:
        asked_at = self._clock()
        async with self._turn, self._places.one() if self._places is not None else nullcontext():
            if not self._rate.take():
                raise CriError(f"image {image}", "UNKNOWN", "pull QPS exceeded")
            began_at = self._clock()
            self._pulling.add(image)
            try:
                ref = await self._recorded(image, sandbox_config, auths, sources)
            finally:
                self._pulling.discard(image)
            ended_at = self._clock()
        return Pull(ref, ended_at - began_at, ended_at - asked_at, await self._status(image))

    async def _recorded(
        self, image: str, sandbox_config: pb.PodSandboxConfig, auths: tuple[Auth, ...], sources: Sources
    ) -> str:
        """The reference; whose credentials it was pulled with is on disk by then."""
        if self._records is None:
            return (await self._try_each(image, sandbox_config, auths))[0]
        with self._records.pull(image) as succeeded:
            ref, used = await self._try_each(image, sandbox_config, auths)
            succeeded(ref, sources.get(used) if used is not None else None)
        return ref

    async def _try_each(
        self, image: str, sandbox_config: pb.PodSandboxConfig, auths: tuple[Auth, ...]
    ) -> tuple[str, Auth | None]:
        """The reference, and what worked. Raises CriError, of several the first with what all of them say."""
        failed: list[CriError] = []
        for each in auths or (None,):
            try:
                if each is None:
                    return await self._cri.pull_image(image, sandbox_config), None
                auth = pb.AuthConfig(username=each.username, password=each.password)
                return await self._cri.pull_image(image, sandbox_config, auth), each
            except CriError as error:
                failed.append(error)
        # Of an unknown error the kubelet leaves out the code.
        words = list(dict.fromkeys(e.reason if e.code == "UNKNOWN" else e.as_go for e in failed))
        text = words[0] if len(words) == 1 else f"[{', '.join(words)}]"
        raise CriError(failed[0].thing, failed[0].code, text)

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
