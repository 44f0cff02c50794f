"""The stream of `/v1/watch` as events for a screen, for as long as the agent lives, across its restarts."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from podherd.agent.admin import Admin
from podherd.errors import PodherdError

Event = dict[str, Any]
RETRY_S = 0.5


def events(root_dir: Path, wait: Callable[[float], None] = time.sleep) -> Iterator[Event]:
    """Lines of the watch; `{type: away}` when the stream breaks, then the whole table anew. Never ends by itself."""
    while True:
        try:
            with Admin(root_dir).stream("watch", timeout_s=60.0) as response:
                for line in response:
                    yield json.loads(line)
        except (PodherdError, OSError, ValueError):
            pass
        yield {"type": "away"}
        wait(RETRY_S)


class Board:
    """The table as it stands, shared by the thread that reads and the one that draws."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, Event] = {}
        self._problems: dict[str, str] = {}
        self._fresh: set[str] | None = None

    def apply(self, event: Event) -> None:
        """Take one event of the watch. After a break, pods that the new stream does not name are gone."""
        with self._lock:
            match event["type"]:
                case "pod":
                    self._rows[event["row"]["uid"]] = event["row"]
                    if self._fresh is not None:
                        self._fresh.add(event["row"]["uid"])
                case "gone":
                    self._rows.pop(event["uid"], None)
                case "problem" if event["problem"]:
                    self._problems[event["thing"]] = event["problem"]
                case "problem":
                    self._problems.pop(event["thing"], None)
                case "away":
                    self._fresh = set()
                case "synced" if self._fresh is not None:
                    self._rows = {uid: row for uid, row in self._rows.items() if uid in self._fresh}
                    self._fresh = None

    def rows(self) -> list[Event]:
        """All rows by namespace and name."""
        with self._lock:
            return sorted(self._rows.values(), key=lambda row: (row["namespace"], row["name"], row["createdAt"]))

    def problems(self) -> list[tuple[str, str]]:
        """Manifests that cannot be used, with the reason."""
        with self._lock:
            return sorted(self._problems.items())
