"""What the raylet runs to make a worker: ties its life to the raylet's, then becomes Ray's own worker program.

It takes the place of Ray's `setup_worker.py`, which imports all of Ray only to replace itself by a shell and that by
the worker. A script of the standard library alone: `worker_entry.py WORKER_PROGRAM ARGUMENTS…`.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_FOR_SETUP_ONLY = ("--language=", "--serialized-runtime-env-context=")
"""Arguments that Ray means for its setup program."""


def main(words: list[str]) -> None:
    """Die with the raylet (prctl(2), kept over exec), then run the worker."""
    raylet = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != raylet:  # it died in between
        sys.exit(1)
    arguments = [word for word in words if not word.startswith(_FOR_SETUP_ONLY)]
    os.execv(sys.executable, [sys.executable, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
