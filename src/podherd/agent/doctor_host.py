"""Checks of the host itself: user, cgroups, capabilities, kernel log, inotify, CNI."""

import json
import os
from collections.abc import Iterator

from podherd.agent.doctor import Check, Finding, Host, bad, ok, warn

CAP_SYS_RESOURCE = 24
"""Bit in CapEff (capabilities(7))."""

CNI_BINARIES = ("/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni")
CNI_CONFIGS = "/etc/cni/net.d"
CNI_NEEDED = ("bridge", "host-local", "loopback", "portmap")
INOTIFY = {"max_user_watches": 65536, "max_user_instances": 512}
"""sysctl fs.inotify.*: least values for some thousand pods."""

CONTROLLERS = ("cpu", "cpuset", "memory", "pids")


def user(host: Host) -> Iterator[Finding]:
    """Containers, mounts and cgroups need root."""
    if host.user_id == 0:
        yield ok("user", "root")
    else:
        yield bad("user", f"uid {host.user_id} is not root", "run podherd as root: sudo podherd …")


def cgroups(host: Host) -> Iterator[Finding]:
    """Which hierarchy there is, and whether the controllers that pods need are in it."""
    mode, have = cgroup_mode(host), _controllers(host)
    if mode == "none":
        yield bad("cgroups", "nothing is mounted on /sys/fs/cgroup", "mount -t cgroup2 none /sys/fs/cgroup")
        return
    lacking = [name for name in CONTROLLERS if name not in have]
    if lacking:
        mend = _mend_controllers(mode, lacking)
        yield bad("cgroups", f"{mode}, without {', '.join(lacking)}", mend)
    else:
        yield ok("cgroups", f"{mode}, with {', '.join(CONTROLLERS)}")


def _mend_controllers(mode: str, lacking: list[str]) -> str:
    if mode == "v2":
        return f"echo '{' '.join(f'+{name}' for name in lacking)}' > /sys/fs/cgroup/cgroup.subtree_control"
    return "; ".join(
        f"mkdir -p /sys/fs/cgroup/{name} && mount -t cgroup -o {name} none /sys/fs/cgroup/{name}" for name in lacking
    )


def cgroup_mode(host: Host) -> str:
    """`v2`, `v1`, `hybrid` (v1 controllers beside a unified tree) or `none` (kubelet behaviour, section 14.4)."""
    if host.path("/sys/fs/cgroup/cgroup.controllers").exists():
        return "v2"
    if not host.path("/sys/fs/cgroup/memory").is_dir():
        return "none"
    return "hybrid" if host.path("/sys/fs/cgroup/unified/cgroup.procs").exists() else "v1"


def _controllers(host: Host) -> set[str]:
    if text := host.text("/sys/fs/cgroup/cgroup.controllers"):
        return set(text.split())
    return {name for name in CONTROLLERS if host.path(f"/sys/fs/cgroup/{name}").is_dir()}


def capabilities(host: Host) -> Iterator[Finding]:
    """Without CAP_SYS_RESOURCE a negative oom_score_adj is refused, and no sandbox of a usual runtime starts."""
    status = dict(line.split(":\t", 1) for line in host.text("/proc/self/status").splitlines() if ":\t" in line)
    if int(status.get("CapEff", "0"), 16) >> CAP_SYS_RESOURCE & 1:
        yield ok("CAP_SYS_RESOURCE", "there")
        return
    if host.runtime.pretended or host.runtime.restricts_oom:
        why = "pretends containers" if host.runtime.pretended else "leaves oom_score_adj alone"
        yield ok("CAP_SYS_RESOURCE", f"missing, and not needed: the runtime {why}")
        return
    detail = "missing: a negative oom_score_adj is refused, sandboxes fail with `can't get final child's PID from pipe`"
    mend = (
        "in /etc/containerd/config.toml, below the CRI plugin: restrict_oom_score_adj = true; "
        "then systemctl restart containerd"
    )
    yield warn("CAP_SYS_RESOURCE", detail, mend)


def kernel_log(host: Host) -> Iterator[Finding]:
    """OOM kills are read from /dev/kmsg."""
    device = host.path("/dev/kmsg")
    try:
        os.close(os.open(device, os.O_RDONLY | os.O_NONBLOCK))
        yield ok("kernel log", "/dev/kmsg can be read")
    except OSError as error:
        detail = f"/dev/kmsg cannot be read ({error.strerror}): OOM kills will not be named"
        yield warn("kernel log", detail, "run as root; in a container, start that with --device /dev/kmsg")


def inotify(host: Host) -> Iterator[Finding]:
    """Manifests and logs are watched."""
    for name, least in INOTIFY.items():
        have = int(host.text(f"/proc/sys/fs/inotify/{name}") or 0)
        if have >= least:
            yield ok(f"inotify {name}", str(have))
        else:
            yield warn(f"inotify {name}", f"{have}: few for many pods", f"sysctl -w fs.inotify.{name}={least}")


def cni(host: Host) -> Iterator[Finding]:
    """Plugins and a network configuration where runtimes look by default."""
    if host.runtime.pretended or host.runtime.network_ready:
        why = "not needed: containers are pretended" if host.runtime.pretended else "the runtime has a network"
        yield ok("CNI", why)
        return
    places = [place for place in CNI_BINARIES if host.path(place).is_dir()]
    have = {name for place in places for name in os.listdir(host.path(place))}
    lacking = [name for name in CNI_NEEDED if name not in have]
    if lacking:
        yield warn("CNI plugins", f"no {', '.join(lacking)} in {', '.join(places or CNI_BINARIES)}",
                   "apt-get install containernetworking-plugins")  # fmt: skip
    else:
        yield ok("CNI plugins", ", ".join(places))
    yield _cni_config(host)


def _cni_config(host: Host) -> Finding:
    directory = host.path(CNI_CONFIGS)
    found = sorted(p for p in directory.glob("*") if p.suffix in (".conf", ".conflist", ".json"))
    if not found:
        mend = f"write {CNI_CONFIGS}/10-pods.conflist with a bridge and a host-local range of addresses"
        return warn("CNI configuration", f"none in {CNI_CONFIGS}, where runtimes look by default", mend)
    try:
        return ok("CNI configuration", f"network {json.loads(found[0].read_bytes())['name']} of {found[0].name}")
    except (ValueError, KeyError, TypeError, OSError) as error:
        mend = f"correct or remove {CNI_CONFIGS}/{found[0].name}"
        return bad("CNI configuration", f"{found[0].name} cannot be used: {error!r}", mend)


CHECKS: tuple[Check, ...] = (user, cgroups, capabilities, kernel_log, inotify, cni)
