"""`python -m podherd.agent.table_live live|plain ROOT`: the agent's screen, in a process of its own.

It watches the admin socket, prints each line of its stdin above the table, and ends when its stdin does. The agent's
parent process stays small by it: no rich, no table there. plain: a line for each change, for logs and pipes.
"""

import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from podherd.agent import table
from podherd.agent.table_feed import Board, Event, events

if TYPE_CHECKING:
    from rich.console import Group

REDRAW_PER_S = 4
UID_CHARS = 8
PROBLEMS_SHOWN = 3
SETTLED = ("Running", "Completed", "Succeeded")


def _restarts(cell: str) -> str:
    """`, 2 restarts (5s ago)` of the cell `2 (5s ago)`; nothing without any."""
    count, _, when = cell.partition(" ")
    words = f", {count} restart{'' if count == '1' else 's'}"
    return "" if count == "0" else f"{words} {when}".rstrip()


class _Names:
    """Pods by namespace and name; while an edited pod is two under one name, each with the begin of its uid."""

    def __init__(self) -> None:
        self._uids: dict[str, set[str]] = {}

    def of(self, row: Event) -> str:
        """The name of a pod that is there."""
        name = f"{row['namespace']}/{row['name']}"
        uids = self._uids.setdefault(name, set())
        uids.add(row["uid"])
        return f"{name} (uid {row['uid'][:UID_CHARS]})" if len(uids) > 1 else name

    def gone(self, row: Event) -> str:
        """Its name for the last time."""
        name = self.of(row)
        uids = self._uids[f"{row['namespace']}/{row['name']}"]
        uids.discard(row["uid"])
        if not uids:
            del self._uids[f"{row['namespace']}/{row['name']}"]
        return name


def plain_lines(stream: Iterable[Event], now: float | None = None) -> Iterable[str]:
    """A line for each pod whose READY, STATUS or RESTARTS changed, and for each manifest that cannot be used."""
    shown: dict[str, str] = {}
    names = _Names()
    for event in stream:
        if event["type"] == "pod":
            row = event["row"]
            cells = table.pod_line(row, time.time() if now is None else now)
            state = f"{cells.ready} {cells.status}" + _restarts(cells.restarts)
            name = names.of(row)
            if shown.get(row["uid"]) != state.partition(" (")[0]:
                shown[row["uid"]] = state.partition(" (")[0]
                yield f"pod {name}: {state}"
        elif event["type"] == "gone" and shown.pop(event["uid"], None):
            yield f"pod {names.gone(event)}: gone"
        elif event["type"] == "problem":
            yield f"manifest {event['thing']}: {event['problem'] or 'mended'}"


def summary(rows: list[Event]) -> str:
    """`5 pods: 3 Running, 1 Completed, 1 CrashLoopBackOff`."""
    words = Counter(table.status_word(row) for row in rows)
    pods = "1 pod" if len(rows) == 1 else f"{len(rows)} pods"
    return pods + (": " + ", ".join(f"{n} {word}" for word, n in words.most_common()) if rows else "")


def fitting(rows: list[Event], lines: int) -> list[Event]:
    """As many rows as fit, those that need a look first, else in order; one line is left to count the others."""
    if len(rows) <= lines:
        return rows
    lines -= 1
    restless = [row for row in rows if table.status_word(row) not in SETTLED]
    calm = [row for row in rows if table.status_word(row) in SETTLED]
    return (restless + calm)[: max(0, lines)]


def screen(board: Board, height: int, now: float) -> "Group":
    """The summary, as many rows as a screen of `height` lines takes, and the first manifests that cannot be used."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    rows, bad = board.rows(), board.problems()
    shown = fitting(rows, height - 3 - PROBLEMS_SHOWN)
    grid = Table("NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", box=None, pad_edge=False)
    for cells in (table.pod_line(row, now) for row in shown):
        status = Text(cells.status, "" if cells.status in SETTLED else "yellow")
        grid.add_row(cells.namespace, cells.name, cells.ready, status, cells.restarts, cells.age, cells.ip)
    more = [Text(f"… and {len(rows) - len(shown)} more")] if len(shown) < len(rows) else []
    named = bad if len(bad) <= PROBLEMS_SHOWN else bad[: PROBLEMS_SHOWN - 1]
    problems = [Text(f"{thing}: {problem}", "red") for thing, problem in named]
    if len(named) < len(bad):
        problems.append(Text(f"… and {len(bad) - len(named)} more manifest problems", "red"))
    return Group(Text(summary(rows), "bold"), grid, *more, *problems)


def _live(root_dir: Path) -> None:
    from rich.console import Console
    from rich.live import Live

    board, console = Board(), Console()

    def read() -> None:
        for event in events(root_dir):
            board.apply(event)

    def draw() -> "Group":
        return screen(board, console.height, time.time())

    threading.Thread(target=read, daemon=True).start()
    # Nobody reads the agent any more once this ends: what stays on the screen are words, not a table that looks alive.
    with Live(get_renderable=draw, console=console, refresh_per_second=REDRAW_PER_S, transient=True):
        for line in sys.stdin:
            console.print(line.rstrip("\n"), markup=False, highlight=False)
    console.print(f"last seen: {summary(board.rows())}", markup=False, highlight=False)


def _plain(root_dir: Path) -> None:
    def show() -> None:
        for line in plain_lines(events(root_dir)):
            _write(line)

    threading.Thread(target=show, daemon=True).start()
    for line in sys.stdin:
        _write(line.rstrip("\n"))


def _write(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """Run until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    form, root_dir = words
    (_live if form == "live" else _plain)(Path(root_dir))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
