"""Finding a container runtime that already listens."""

import socket
from pathlib import Path

USUAL = (
    Path("/run/containerd/containerd.sock"),
    Path("/run/crio/crio.sock"),
    Path("/var/run/crio/crio.sock"),
    Path("/run/cri-dockerd.sock"),
    Path("/run/k3s/containerd/containerd.sock"),
)
CONNECT_S = 2.0


def find_socket(explicit: str = "", usual: tuple[Path, ...] = USUAL) -> Path | None:
    """`explicit` (a path or `unix://` URL) whether it listens or not; else the first usual path that does, if any."""
    if explicit:
        return Path(explicit.removeprefix("unix://"))
    return next((path for path in usual if listens(path)), None)


def listens(path: Path) -> bool:
    """Whether somebody accepts connections there; a file that a dead runtime left behind does not count."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        trial.settimeout(CONNECT_S)
        try:
            trial.connect(str(path))
        except OSError:
            return False
        return True
