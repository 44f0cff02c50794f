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
SETTLED = ("Running", "Completed", "Succeeded")


def plain_lines(stream: Iterable[Event], now: float | None = None) -> Iterable[str]:
    """A line for each pod whose READY, STATUS or RESTARTS changed, and for each manifest that cannot be used."""
    shown: dict[str, str] = {}
    for event in stream:
        if event["type"] == "pod":
            row = event["row"]
            cells = table.pod_line(row, time.time() if now is None else now)
            state = f"{cells.ready} {cells.status}" + f", {cells.restarts} restarts" * (cells.restarts != "0")
            line = f"pod {row['namespace']}/{row['name']}: {state}"
            if shown.get(row["uid"]) != line.partition(" (")[0]:
                shown[row["uid"]] = line.partition(" (")[0]
                yield line
        elif event["type"] == "gone" and shown.pop(event["uid"], None):
            yield f"pod {event['namespace']}/{event['name']}: gone"
        elif event["type"] == "problem":
            yield f"manifest {event['thing']}: {event['problem'] or 'mended'}"


def summary(rows: list[Event]) -> str:
    """`5 pods: 3 Running, 1 Completed, 1 CrashLoopBackOff`."""
    words = Counter(table.status_word(row) for row in rows)
    return f"{len(rows)} pods" + (": " + ", ".join(f"{n} {word}" for word, n in words.most_common()) if rows else "")


def fitting(rows: list[Event], lines: int) -> list[Event]:
    """As many rows as fit, those that need a look first, else in order."""
    if len(rows) <= lines:
        return rows
    restless = [row for row in rows if table.status_word(row) not in SETTLED]
    calm = [row for row in rows if table.status_word(row) in SETTLED]
    return (restless + calm)[: max(0, lines)]


def screen(board: Board, height: int, now: float) -> "Group":
    """The summary, as many rows as a screen of `height` lines takes, and the first manifests that cannot be used."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    rows = board.rows()
    grid = Table("NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", box=None, pad_edge=False)
    for cells in (table.pod_line(row, now) for row in fitting(rows, height - 6)):
        status = Text(cells.status, "" if cells.status in SETTLED else "yellow")
        grid.add_row(cells.namespace, cells.name, cells.ready, status, cells.restarts, cells.age, cells.ip)
    problems = [Text(f"{thing}: {problem}", "red") for thing, problem in board.problems()[:3]]
    return Group(Text(summary(rows), "bold"), grid, *problems)


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
    with Live(get_renderable=draw, console=console, refresh_per_second=REDRAW_PER_S):
        for line in sys.stdin:
            console.print(line.rstrip("\n"), markup=False, highlight=False)


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
