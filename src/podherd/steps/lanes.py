"""When a plan may begin: bounded lanes, so that a herd of starts neither floods the runtime nor delays a stop.

A sync holds its place for at most `hold_s`. What takes longer (a pull, a hung CNI plugin, a long grace) goes on, but
no longer counts: one slow pod, or a lane full of them, never holds the others for longer than that.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from podherd.machines.pod.events import Synced
from podherd.machines.pod.instructions import Sync
from podherd.steps.context import Context, Tools
from podherd.steps.runner import perform

Spawn = Callable[[Coroutine[Any, Any, None], str], object]


@dataclass(frozen=True, slots=True)
class Width:
    """places: syncs at once. hold_s: how long each counts."""

    places: int
    hold_s: float


STARTS = Width(32, 2.0)
ENDINGS = Width(128, 0.25)


class _Lane:
    def __init__(self, width: Width, begin: Callable[[Sync, "_Place"], None]) -> None:
        self._width = width
        self._begin = begin
        self._taken = 0
        self._waiting: dict[str, Sync] = {}

    def put(self, sync: Sync) -> None:
        self._waiting[sync.uid] = sync
        self.advance()

    def withdraw(self, uid: str, plan_id: int) -> Sync | None:
        if (sync := self._waiting.get(uid)) is None or sync.plan_id != plan_id:
            return None
        return self._waiting.pop(uid)

    def advance(self) -> None:
        while self._waiting and self._taken < self._width.places:
            self._taken += 1
            sync = self._waiting.pop(next(iter(self._waiting)))
            self._begin(sync, _Place(self, self._width.hold_s))

    def leave(self) -> None:
        self._taken -= 1
        self.advance()


class _Place:
    """One place in a lane, given back once: when the sync ends or has held it long enough."""

    __slots__ = ("_lane", "_timer")

    def __init__(self, lane: _Lane, hold_s: float) -> None:
        self._lane: _Lane | None = lane
        self._timer = asyncio.get_running_loop().call_later(hold_s, self.give_back)

    def give_back(self) -> None:
        lane, self._lane = self._lane, None
        self._timer.cancel()
        if lane is not None:
            lane.leave()


class Lanes:
    """Performs syncs: starts in one lane, stops and clean-ups in another; every Synced goes to `ended`, once each."""

    def __init__(
        self,
        tools: Tools,
        spawn: Spawn,
        ended: Callable[[Synced], None],
        starts: Width = STARTS,
        endings: Width = ENDINGS,
    ) -> None:
        self._tools = tools
        self._spawn = spawn
        self._ended = ended
        self._starts = _Lane(starts, self._begin)
        self._endings = _Lane(endings, self._begin)
        self._running: dict[str, Context] = {}

    def put(self, sync: Sync) -> None:
        """Do this sync as soon as its lane has a place."""
        plan = sync.plan
        (self._starts if plan.make_sandbox is not None or plan.start else self._endings).put(sync)

    def cancel(self, uid: str, plan_id: int) -> None:
        """Stop doing this plan soon; one that has not begun ends at once. Unknown (already answered): nothing."""
        context = self._running.get(uid)
        if context is not None and context.sync.plan_id == plan_id:
            context.cancel()
        elif self._starts.withdraw(uid, plan_id) or self._endings.withdraw(uid, plan_id):
            self._ended(Synced(uid, plan_id, self._tools.clock(), (), did=False, cancelled=True))

    def _begin(self, sync: Sync, place: _Place) -> None:
        context = Context(sync, self._tools)
        self._running[sync.uid] = context
        self._spawn(self._perform(context, place), f"sync {sync.uid}")

    async def _perform(self, context: Context, place: _Place) -> None:
        try:
            synced = await perform(context)
        finally:
            if self._running.get(context.sync.uid) is context:
                del self._running[context.sync.uid]
            place.give_back()
        self._ended(synced)
