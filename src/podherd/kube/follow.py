"""Following objects: does what `podherd.kube.resume` decides, on the network and in real time."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
import orjson

from podherd.errors import ApiError
from podherd.kube.answers import object_of, refusal
from podherd.kube.door import News, Query
from podherd.kube.limiter import Limiter
from podherd.kube.lines import Lines
from podherd.kube.resume import AskList, AskWatch, Resume
from podherd.kube.transport import Request, Transport

LIST_S = 60.0
"""How long a page may take."""
OPEN_S = 30.0
"""How long a watch may take to be accepted."""
LASTS_S = (300, 600)
"""A watch asks to be closed after some time between these, so that clients spread over the servers."""
GRACE_S = 30.0
"""How much later than asked the server may close it."""
IDLE_S = 150.0
"""A watch silent for so long is resumed: API servers send a bookmark each minute, and one that hangs sends nothing."""

Told = Callable[[News], None]


async def follow(transport: Transport, limiter: Limiter, path: str, query: Query, told: Told) -> None:
    """List, then watch, until it is cancelled."""
    one = _Follow(transport, path, Resume(query), told)
    while True:
        if (delay := one.resume.delay_s(random.random())) > 0:
            await asyncio.sleep(delay)
        await limiter.turn()
        await one.step()


@dataclass(slots=True)
class _Heard:
    """Of one watch. since: when it was accepted, of the loop's clock. any: whether it told of something."""

    since: float | None = None
    any: bool = False


class _Follow:
    def __init__(self, transport: Transport, path: str, resume: Resume, told: Told) -> None:
        self.resume = resume
        self._transport = transport
        self._path = path
        self._told = told

    async def step(self) -> None:
        """One page, or one watch from its beginning to its end."""
        asked = self.resume.ask()
        try:
            if isinstance(asked, AskList):
                self._tell(self.resume.listed(await self._page(asked.query)))
            else:
                await self._watch(asked)
        except ApiError as error:
            self._tell(self.resume.failed(error))

    def _tell(self, news: list[News]) -> None:
        for one in news:
            self._told(one)

    async def _page(self, query: Query) -> dict[str, object]:
        request = Request("GET", self._path, query)
        try:
            async with asyncio.timeout(LIST_S), self._transport.send(request) as answer:
                data = await answer.read()
        except TimeoutError as error:
            raise self._transport.unanswered(request, f"no answer in {LIST_S:g} s") from error
        _check(request, answer, data)
        return object_of(str(request), data)

    async def _watch(self, asked: AskWatch) -> None:
        lasts = random.randint(*LASTS_S)
        request = Request("GET", self._path, {**asked.query, "timeoutSeconds": str(lasts)})
        heard = _Heard()
        try:
            async with asyncio.timeout(OPEN_S) as limit, self._transport.send(request, IDLE_S) as answer:
                if answer.status != HTTPStatus.OK:
                    _check(request, answer, await answer.read())
                heard.since = asyncio.get_running_loop().time()
                limit.reschedule(heard.since + lasts + GRACE_S)
                self._tell(self.resume.opened())
                if not await self._hear(request, answer, heard):
                    return
        except TimeoutError as error:
            if heard.since is None:
                raise self._transport.unanswered(request, "the watch is not accepted in time") from error
        except ApiError as error:
            if heard.since is None or not isinstance(error.__cause__, (aiohttp.ClientError, OSError)):
                raise
        self.resume.ended(asyncio.get_running_loop().time() - heard.since, heard.any)

    async def _hear(self, request: Request, answer: aiohttp.ClientResponse, heard: "_Heard") -> bool:
        """Every event until the server closes the watch; what is left of a line then is thrown away.

        False for a line that is no JSON: all is told of it already.
        """
        lines = Lines()
        async for piece in answer.content.iter_any():
            for line in lines.feed(piece):
                try:
                    event = orjson.loads(line)
                except ValueError:
                    self._tell(self.resume.torn())
                    return False
                self._tell(self.resume.event(str(request), event))
                heard.any = True
        return True


def _check(request: Request, answer: aiohttp.ClientResponse, data: bytes) -> None:
    if answer.status != HTTPStatus.OK:
        raise refusal(str(request), answer.status, answer.headers, data)
