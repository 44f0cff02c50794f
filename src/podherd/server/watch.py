"""Watchers of the pod table: each sees the last value of what changed; a slow one costs no more than the table."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from podherd.wire.status import PodForgotten, SourceProblem, StatusChanged

Change = StatusChanged | PodForgotten | SourceProblem


class Watcher:
    """One reader's waiting changes by pod uid or file; a newer change of the same thing replaces the one that waits."""

    def __init__(self) -> None:
        self._waiting: dict[str, Change] = {}
        self._filled = asyncio.Event()

    def put(self, key: str, change: Change) -> None:
        """Note a change; never blocks."""
        self._waiting[key] = change
        self._filled.set()

    async def take(self) -> list[Change]:
        """All waiting changes, once there is one."""
        await self._filled.wait()
        self._filled.clear()
        waiting, self._waiting = self._waiting, {}
        return list(waiting.values())


class Hub:
    """All watchers. With none, a change costs one test."""

    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()

    def publish(self, change: Change) -> None:
        """Tell every watcher."""
        if self._watchers:
            key = change.thing if isinstance(change, SourceProblem) else change.uid
            for watcher in self._watchers:
                watcher.put(key, change)

    @contextmanager
    def watcher(self) -> Iterator[Watcher]:
        """A watcher for as long as the block runs."""
        watcher = Watcher()
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)
