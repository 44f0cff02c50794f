"""The URL source: one GET each `check_s`, a Pod or a PodList in the answer (kubelet behaviour, section 1.2)."""

import asyncio
import time
from collections.abc import Callable, Mapping

import aiohttp

from podherd.errors import ManifestError
from podherd.machines.sources.events import Event, Noted, OriginRead, SourceListed
from podherd.model import schema
from podherd.model.document import LIMIT_BYTES
from podherd.model.keys import SOURCE_HTTP
from podherd.model.url import without_secrets
from podherd.sources.static import problem_of, url_pods

TIMEOUT_S = 10.0
LOUD_FAILURES = 3
"""After so many failures in a row the reason is no longer told anew."""


class HttpSource:
    """Reads `url` for ever and tells `emit`; a failure of any kind keeps what was last read."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        node_name: str,
        check_s: float,
        emit: Callable[[Event], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.url = url
        self.shown_url = without_secrets(url)
        self._headers = headers
        self._node_name = node_name
        self._check_s = check_s
        self._emit = emit
        self._clock = clock
        self._last: bytes | None = None
        self._failures = 0

    async def run(self) -> None:
        """Ask, wait, ask again; for ever."""
        await asyncio.to_thread(schema.prepare)
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout, headers=self._headers) as session:
            while True:
                await self.check(session)
                await asyncio.sleep(self._check_s)

    async def check(self, session: aiohttp.ClientSession) -> None:
        """One GET and what it means."""
        try:
            await self._use(await self._get(session))
        except ManifestError as error:
            self._failed(problem_of(error))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._failed(f"cannot be read: {_words(error)}")
        except Exception as error:  # a fault of ours must not end the source
            self._failed(f"cannot be understood: {type(error).__name__}")

    async def _get(self, session: aiohttp.ClientSession) -> bytes:
        async with session.get(self.url) as answer:
            if answer.status != 200:
                raise ManifestError(self.shown_url, f"answered {answer.status} {answer.reason or ''}".rstrip())
            data = bytearray()
            async for piece in answer.content.iter_chunked(64 * 1024):
                data += piece
                if len(data) > LIMIT_BYTES:
                    raise ManifestError(self.shown_url, f"the answer is larger than {LIMIT_BYTES >> 20} MiB")
            return bytes(data)

    async def _use(self, data: bytes) -> None:
        if data != self._last:
            self._emit(await self._read(data))
            self._last = data
        self._failures = 0
        problem = "" if data else "the answer is empty: it stands for no pods at all"
        self._emit(Noted(self.shown_url, problem))
        self._emit(SourceListed(SOURCE_HTTP))

    async def _read(self, data: bytes) -> OriginRead:
        if not data:
            return OriginRead(SOURCE_HTTP, self.shown_url, ())
        return await asyncio.to_thread(url_pods, data, self.url, self.shown_url, self._node_name, self._clock())

    def _failed(self, problem: str) -> None:
        """Tell of the first failures; the reason of a long trouble may change at each try and is left as it is."""
        self._failures += 1
        if self._failures <= LOUD_FAILURES:
            kept = "" if self._last is None else "; the pods that were read before stay"
            self._emit(Noted(self.shown_url, f"{problem}{kept}"))


def _words(error: Exception) -> str:
    """What went wrong, without the URL: some of aiohttp's errors show it whole."""
    if isinstance(error, TimeoutError):
        return f"no answer in {TIMEOUT_S:g} s"
    shows_url = isinstance(error, (aiohttp.InvalidURL, aiohttp.ClientResponseError))
    return type(error).__name__ if shows_url else str(error) or type(error).__name__
