"""`python -m podherd.agent.undo ROOT`: what `make stop` does. The agent ends, then the runtime that podherd set up."""

import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from podherd.agent import lock
from podherd.agent.provision import Containerd
from podherd.agent.provision.cleaning import MOUNTS, mounts_under
from podherd.agent.screen import say_plainly
from podherd.errors import PodherdError

AGENT_WITHIN_S = 320.0
"""An agent that stops its pods first (drainOnExit) takes 300 s at most."""


def undo(root_dir: Path, say: Callable[[str], None]) -> None:
    """Stop the agent of this root, then the pods and the daemon of its own containerd, and remove that containerd.

    A runtime of the host's is left alone, and so are its containers. Raises PodherdError when the agent does not end.
    """
    if not root_dir.is_dir():
        say(f"nothing is at {root_dir}")
        return
    stop_agent(root_dir, say)
    with lock.root_lock(root_dir):
        _remove_runtime(root_dir, say)


def stop_agent(root_dir: Path, say: Callable[[str], None], within_s: float = AGENT_WITHIN_S) -> None:
    """End the agent that holds the root directory, if one does, as Ctrl-C would. Raises PodherdError."""
    pid = lock.holder(root_dir)
    if pid is None:
        say("no agent runs")
        return
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGTERM)
        say(f"stopping the agent, pid {pid}")
        if not select.select([pidfd], [], [], within_s)[0]:
            raise PodherdError(f"agent {pid}", f"has not ended within {within_s:g} s", f"kill -9 {pid}, then once more")
    except PermissionError as error:
        raise PodherdError(f"agent {pid}", "is another user's", "run this as root, with sudo") from error
    finally:
        os.close(pidfd)


def _remove_runtime(root_dir: Path, say: Callable[[str], None]) -> None:
    runtime = Containerd(root_dir)
    if not runtime.exists:
        say("no runtime of podherd's own is there; containers of the host's runtime run on")
        return
    say("stopping its containers and its containerd")
    runtime.stop()
    for point in reversed(mounts_under(root_dir.resolve(), MOUNTS.read_text())):
        subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)
    shutil.rmtree(runtime.home)
    say(f"removed {runtime.home}; the rest of {root_dir} may be removed as well")


def main(words: list[str]) -> int:
    """The exit code."""
    try:
        undo(Path(words[0]).absolute(), say_plainly)
    except PodherdError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
