"""A program that a test started: its pid is on disk too, so that whoever finds its directory later can end it."""

import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kit.processes import command_line

from podherd.agent import procs

END_S = 20.0


@dataclass(frozen=True)
class Started:
    """A child process; `<home>/<name>.pid` names it, `<home>/<name>.log` has what it prints."""

    process: subprocess.Popen[bytes]
    pid_file: Path

    @classmethod
    def begin(cls, command: Sequence[str], home: Path, name: str) -> "Started":
        """Run it; its command line must name `home`."""
        with (home / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=home, start_new_session=True
            )
        pid_file = home / f"{name}.pid"
        pid_file.write_text(str(process.pid))
        return cls(process, pid_file)

    @property
    def pid(self) -> int:
        """Its process id, of a dead one too."""
        return self.process.pid

    def exit_code(self) -> int | None:
        """None while it runs."""
        return self.process.poll()

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Signal it and wait for its end; killed when that takes long. Nothing for one that has ended."""
        if self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(END_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.pid_file.unlink(missing_ok=True)


def end_leftovers(home: Path) -> None:
    """SIGKILL whatever the pid files of `home` name, if its command line still names `home`: pids are used again."""
    noted = [int(file.read_text() or 0) for file in home.glob("*.pid")]
    pids = [pid for pid in noted if str(home).encode() in command_line(pid)]
    procs.kill(pids)
    procs.wait_dead(pids, END_S)
