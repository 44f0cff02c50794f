"""Taking away what a containerd leaves behind: shims and their containers, mounts, the bridge. Its own only."""

import subprocess
from pathlib import Path

from podherd.agent import procs
from podherd.agent.provision import detached
from podherd.agent.provision.packages import command

GONE_S = 10.0
MOUNTS = Path("/proc/self/mountinfo")


def clean(home: Path, socket: Path, bridge: str) -> None:
    """End the shims of this socket with all below them, unmount everything under `home`, delete the bridge."""
    shims = [pid for pid in detached.processes_with(str(socket)) if _is_shim(pid)]
    everyone = procs.tree(shims)
    procs.kill(everyone)
    procs.wait_dead(everyone, GONE_S)
    for point in reversed(mounts_under(home, MOUNTS.read_text())):
        subprocess.run(["umount", "--lazy", point], capture_output=True, check=False)
    if bridge:
        subprocess.run([command("ip") or "ip", "link", "delete", bridge], capture_output=True, check=False)


def _is_shim(pid: int) -> bool:
    return detached.command_line(pid)[0].rpartition("/")[2].startswith("containerd-shim")


def mounts_under(home: Path, mountinfo: str) -> list[str]:
    """Mount points below `home`, in the order in which they were made (proc(5), mountinfo: field 5, octal escapes)."""
    points = [line.split()[4].encode().decode("unicode_escape") for line in mountinfo.splitlines()]
    return [point for point in points if point.startswith(f"{home}/")]
