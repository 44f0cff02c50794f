"""From a machine in any state to a CRI endpoint (`make run`, tests)."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from podherd.agent.provision.config import ASK
from podherd.agent.provision.containerd import Containerd
from podherd.agent.provision.errors import ProvisionError
from podherd.agent.provision.packages import MEND, install, missing
from podherd.agent.provision.sockets import find_socket


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A runtime that can be used. own: podherd's containerd behind it, None for one that was there before."""

    uri: str
    own: Containerd | None = None


def ensure_runtime(root: Path, say: Callable[[str], None]) -> Endpoint:
    """The runtime of this podherd root: its own containerd where it has one, else the host's, else a new own one.

    `say` gets a line of progress before whatever takes time. Raises ProvisionError when this machine cannot run
    containers, with what a user can do. Call it before the process becomes a subreaper: containerd must outlive it.
    """
    own = Containerd(root)
    if not own.exists and (found := find_socket()) is not None:
        uri = f"unix://{found}"
        if problem := _problem(uri):
            say(f"{found} cannot be used: {problem}")
        else:
            say(f"using the runtime at {found}")
            return Endpoint(uri)
    return _own(own, say)


def _own(own: Containerd, say: Callable[[str], None]) -> Endpoint:
    if os.geteuid() != 0:
        raise ProvisionError(
            "container runtime", "none is running, and starting one needs root", f"run as root, or {MEND}"
        )
    install(missing(), say)
    say(f"containerd of {own.home} {'is running' if own.pid else 'is starting'}")
    own.start()
    own.import_samples(say)
    return Endpoint(own.endpoint, own)


def _problem(uri: str) -> str:
    """Why the runtime there is of no use; empty when it speaks CRI v1."""
    asked = subprocess.run([*ASK, "version", uri], capture_output=True, text=True, check=False)
    return "" if asked.returncode == 0 else asked.stderr.strip()
