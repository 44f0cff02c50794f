"""The hollow runtime as the parent's child: started with the agent, started again when it dies, ended with it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from podherd.errors import RuntimeRefusedError

LEAST_LIFE_S = 1.0
"""One that dies sooner is started again only after this time."""
STOP_S = 10.0


class HollowChild:
    """`python -m podherd.hollow` on a socket. Raises RuntimeRefusedError when it does not come up at first."""

    def __init__(self, socket: Path, say: Callable[[str], None]) -> None:
        self.endpoint = f"unix://{socket}"
        self._socket = socket
        self._say = say
        self._begin()
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line.startswith(b"ready"):
            self.stop()
            raise RuntimeRefusedError(f"hollow runtime at {socket}", "did not start", "its reason stands above")

    @property
    def pid(self) -> int:
        """Of the process that serves now."""
        return self._process.pid

    def _begin(self) -> None:
        command = [sys.executable, "-m", "podherd.hollow", "--socket", str(self._socket), "--die-with-parent"]
        self._begun_at = time.monotonic()
        self._process = subprocess.Popen([*command, "--log-dir-writes"], stdout=subprocess.PIPE, start_new_session=True)
        self.pidfd = os.pidfd_open(self._process.pid)

    def restart(self) -> None:
        """It has died: start it again, with nothing in it. The actors connect by themselves."""
        self._bury()
        self._say("the hollow runtime died and is started again; its containers are lost")
        time.sleep(max(0.0, self._begun_at + LEAST_LIFE_S - time.monotonic()))
        self._begin()

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._bury()

    def _bury(self) -> None:
        self._process.wait()
        os.close(self.pidfd)
        if self._process.stdout:
            self._process.stdout.close()
