"""The configuration file of podherd's own containerd, for both of its formats."""

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from string import Template

from podherd.agent.provision.errors import ProvisionError

CAP_SYS_RESOURCE = 1 << 24
PAUSE = "podherd.local/pause:1"
APPARMOR = Path("/sys/kernel/security/apparmor/profiles")
ASK = (sys.executable, "-m", "podherd.cri.ask")
"""A process of its own for the few CRI calls made here, so that the caller stays free of gRPC's threads."""
_VERSION = re.compile(r"\bv?(\d+)\.(\d+)\.")

_HEAD = """root = "$home/root"
state = "$home/state"
[grpc]
  address = "$home/containerd.sock"
"""
_VERSION_2 = f"""version = 2
{_HEAD}[plugins."io.containerd.internal.v1.opt"]
  path = "$home/opt"
[plugins."io.containerd.grpc.v1.cri"]
  disable_apparmor = $no_apparmor
  restrict_oom_score_adj = $restrict_oom
  netns_mounts_under_state_dir = true
  sandbox_image = "$pause"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni_bin"
    conf_dir = "$home/cni"
"""
_VERSION_3 = f"""version = 3
{_HEAD}[plugins.'io.containerd.internal.v1.opt']
  path = "$home/opt"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "$pause"
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = $no_apparmor
  restrict_oom_score_adj = $restrict_oom
  netns_mounts_under_state_dir = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["$cni_bin"]
    conf_dir = "$home/cni"
"""


@dataclass(frozen=True, slots=True)
class Ability:
    """What this machine lets a runtime do.

    oom: a process may lower oom_score_adj (CAP_SYS_RESOURCE); without it every sandbox would fail with "can't get final
    child's PID from pipe". apparmor: profiles can be loaded.
    """

    oom: bool
    apparmor: bool


def ability(status: Path = Path("/proc/self/status"), apparmor: Path = APPARMOR) -> Ability:
    """Asked of this process: the runtime inherits its capabilities."""
    effective = next(line for line in status.read_text().splitlines() if line.startswith("CapEff:"))
    may_lower = bool(int(effective.split()[1], 16) & CAP_SYS_RESOURCE)
    return Ability(may_lower, apparmor.exists() and shutil.which("apparmor_parser") is not None)


def major_version(printed: str) -> int:
    """The major version in what `containerd --version` prints."""
    if found := _VERSION.search(printed):
        return int(found[1])
    raise ProvisionError("containerd", f"prints no version: {printed.strip()!r}", "install containerd 1.6 or newer")


def text(major: int, home: Path, cni_bin: Path, can: Ability) -> str:
    """The whole file. home: where everything of this containerd lies."""
    return Template(_VERSION_3 if major >= 2 else _VERSION_2).substitute(
        home=home,
        cni_bin=cni_bin,
        pause=PAUSE,
        no_apparmor=str(not can.apparmor).lower(),
        restrict_oom=str(not can.oom).lower(),
    )
