"""A process that outlives its starter: its own session, reparented to init, found again by its pid file."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

POLL_S = 0.02
_START = 'echo $$ > "$0.new" && mv "$0.new" "$0" && exec "$@"'
"""The shell writes its pid, then becomes the program."""


def start(command: Sequence[str], pid_file: Path, log: Path) -> None:
    """Run `command` in a session of its own, output appended to `log`. Returns once it is on its way.

    `setsid --fork` ends at once, so no zombie and no child of ours remains; a subreaper that is set up later than
    this does not get the process either.
    """
    pid_file.unlink(missing_ok=True)
    with log.open("ab") as output:
        subprocess.run(
            ["setsid", "--fork", "/bin/sh", "-c", _START, str(pid_file), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd="/",
            check=True,
        )


def running_pid(pid_file: Path, word: str) -> int | None:
    """The pid in the file, if that process lives and has `word` on its command line: pids are used again."""
    try:
        pid = int(pid_file.read_text())
    except (OSError, ValueError):
        return None
    return pid if word in command_line(pid) else None


def command_line(pid: int) -> list[str]:
    """The arguments of a process; none for one that is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def processes_with(word: str) -> list[int]:
    """Every process with `word` among its arguments."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and word in command_line(int(entry))]


def parents() -> dict[int, int]:
    """The parent of every process (field 4 of /proc/PID/stat, after the name, which may hold anything)."""
    found = {}
    for entry in os.listdir("/proc"):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text() if entry.isdigit() else ""
        except OSError:
            continue
        if stat:
            found[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    return found


def descendants(pids: Sequence[int]) -> list[int]:
    """All processes below `pids`, without themselves."""
    wanted, tree, below = set(pids), parents(), list[int]()
    while grown := [pid for pid, parent in tree.items() if parent in wanted and pid not in wanted]:
        wanted.update(grown)
        below += grown
    return below


def end(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to each; those that are gone are fine."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def wait_gone(pids: Sequence[int], limit_s: float) -> bool:
    """Whether all of them ended (zombies count as ended) within the time."""
    deadline = time.monotonic() + limit_s
    while any(command_line(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True
