"""Questions on their way to other actors: each is answered once, or fails after its time."""

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any

from podherd.server.replies import BusyError, NotFoundError
from podherd.wire import codec
from podherd.wire.control import ANSWER_S, Answer, Ask


class Questions:
    """Pairs Ask and Answer by id. Ids begin at random, so an answer to an earlier server finds no question."""

    def __init__(self, send: Callable[[str, Ask], None], answer_s: float = ANSWER_S) -> None:
        self._send = send
        self._answer_s = answer_s
        self._ids = itertools.count(random.getrandbits(40))
        self._waiting: dict[int, asyncio.Future[Answer]] = {}

    async def ask(self, actor: str, what: str, **args: Any) -> Any:
        """The unpacked answer. Raises NotFoundError with the actor's error text, BusyError when it does not answer."""
        number = next(self._ids)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send(actor, Ask(number, what, codec.pack(args)))
        try:
            async with asyncio.timeout(self._answer_s):
                answer = await future
        except TimeoutError:
            reason = f"did not answer within {self._answer_s:g} s"
            raise BusyError(f"actor {actor}", reason, "`podherd doctor` shows the actors") from None
        finally:
            del self._waiting[number]
        if answer.error:
            raise NotFoundError(f"{what} {args.get('namespace', '')}/{args.get('name', '')}".strip("/ "), answer.error)
        return codec.unpack(answer.body)

    def answered(self, answer: Answer) -> None:
        """Hand an answer to whoever waits; one that nobody waits for any more is let go."""
        if (future := self._waiting.get(answer.id)) and not future.done():
            future.set_result(answer)
