"""The Debian packages that a node needs to run real containers."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from podherd.agent.provision.errors import ProvisionError

CNI_DIRS = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
_SBIN = "/usr/local/sbin:/usr/sbin:/sbin"
MEND = "install containerd, runc and the CNI plugins, or give --runtime unix:///path/of/a/cri.sock, or --runtime hollow"


def command(name: str) -> str | None:
    """The path of a program, also where only root's PATH looks."""
    return shutil.which(name) or shutil.which(name, path=_SBIN)


def cni_dir() -> Path | None:
    """Where the CNI plugins are: Debian's directory or the usual one."""
    return next((path for path in CNI_DIRS if (path / "bridge").exists()), None)


def static_busybox() -> Path | None:
    """A busybox that needs no libraries, so that an image can consist of it alone."""
    path = command("busybox")
    return Path(path) if path and is_static(Path(path)) else None


def is_static(binary: Path) -> bool:
    """Whether an ELF file names no interpreter (no PT_INTERP segment), looked up in its first page."""
    head = binary.read_bytes()[:4096]
    return head.startswith(b"\x7fELF") and b"/ld-" not in head


_NEEDED: dict[str, Callable[[], object]] = {
    "containerd": lambda: command("containerd") and command("ctr"),
    "runc": lambda: command("runc"),
    "containernetworking-plugins": cni_dir,
    "busybox-static": static_busybox,
    "iptables": lambda: command("iptables"),
}


def missing() -> list[str]:
    """The packages whose programs are not there."""
    return [package for package, found in _NEEDED.items() if not found()]


def install(packages: Iterable[str], say: Callable[[str], None]) -> None:
    """apt-get install them. Raises ProvisionError when that is impossible here or fails."""
    names = list(packages)
    if not names:
        return
    _check_possible(names)
    say(f"installing {' '.join(names)} with apt-get")
    if _apt("install", "-y", "--no-install-recommends", *names).returncode:
        say("refreshing the package lists")
        _apt("update")
        result = _apt("install", "-y", "--no-install-recommends", *names)
        if result.returncode:
            last = (result.stdout.strip().splitlines() or ["no output"])[-1]
            raise ProvisionError(" ".join(names), f"apt-get install failed: {last}", MEND)
    if still := [name for name in names if not _NEEDED[name]()]:
        raise ProvisionError(" ".join(still), "its programs are missing though apt-get installed it", MEND)


def _check_possible(names: list[str]) -> None:
    what = " ".join(names)
    if not command("apt-get"):
        raise ProvisionError(what, "missing, and this is no Debian or Ubuntu: there is no apt-get", MEND)
    if os.geteuid() != 0:
        raise ProvisionError(what, "missing, and installing it needs root", f"run as root, or {MEND}")


def _apt(*args: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        ["apt-get", "-q", *args],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
