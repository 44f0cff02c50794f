"""A hollow runtime in its own process, for tests."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SUCH = (sys.executable, "-m", "podherd.hollow")


class Hollow:
    """`python -m podherd.hollow` on a socket of its own; what it holds is gone after a restart unless it keeps it."""

    def __init__(self, socket: Path, options: Sequence[str] = ()) -> None:
        self.socket = socket
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    @property
    def endpoint(self) -> str:
        """Its CRI endpoint."""
        return f"unix://{self.socket}"

    @property
    def pid(self) -> int:
        """Its process, 0 when it is not running."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Run it; returns when it serves."""
        command = [*SUCH, "--socket", str(self.socket), "--die-with-parent", *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said.startswith("ready"):
            self.end(signal.SIGKILL)
            raise RuntimeError(f"hollow said {said!r} instead of ready")

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send the signal and wait for its end."""
        if self._process is None:
            return
        self._process.send_signal(number)
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = None

    def kill9(self) -> None:
        """End it by SIGKILL."""
        self.end(signal.SIGKILL)


@contextmanager
def own_hollow(*options: str) -> Iterator[Hollow]:
    """A hollow runtime for as long as the block lasts."""
    place = Path(tempfile.mkdtemp(prefix=f"podherd-hollow-{os.getpid()}-", dir="/tmp"))
    runtime = Hollow(place / "hollow.sock", options)
    try:
        runtime.start()
        yield runtime
    finally:
        runtime.end()
        shutil.rmtree(place)
