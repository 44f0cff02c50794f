"""A process that outlives its starter: its own session, reparented to init, found again by its pid file."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from podherd.agent import procs

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
    return [pid for pid in procs.all_pids() if word in command_line(pid)]
