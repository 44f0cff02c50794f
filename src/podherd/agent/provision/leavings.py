"""What pods leave on the host when their containers are ended without the agent: logs, links to them, cgroups.

`python -m podherd.agent.provision.leavings ENDPOINT` prints the uids of the pods that a runtime holds, one a line.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from podherd.agent.provision import detached
from podherd.agent.provision.sockets import listens
from podherd.cgroups.paths import SYSTEMD, pod_cgroup
from podherd.errors import PodherdError
from podherd.steps.cgroup import MOUNT, QOS_CLASSES, hierarchies, remove_tree
from podherd.steps.logs import links_dir

ANSWER_S = 10.0
EMPTY_WITHIN_S = 2.0
"""The kernel counts a killed process out of its cgroup a moment after its end."""


def pods_of(root_dir: Path, endpoint: str) -> set[str]:
    """Uids of the pods that the root's own containerd holds; of one that does not run, those with a directory."""
    if listens(Path(endpoint.removeprefix("unix://"))):
        asked = subprocess.run(
            [sys.executable, "-m", __name__, endpoint],
            capture_output=True,
            text=True,
            check=False,
        )
        if asked.returncode == 0:
            return set(asked.stdout.split())
    with suppress(OSError):
        return set(os.listdir(root_dir / "pods"))
    return set()


async def _held(endpoint: str) -> set[str]:
    from cri_api.v1 import api_pb2 as pb

    from podherd.cri.client import Cri
    from podherd.model.keys import POD_UID

    cri = Cri(endpoint, request_s=ANSWER_S)
    try:
        listed = pb.ListPodSandboxResponse.FromString(await cri.list_sandboxes_raw())
    finally:
        await cri.close()
    return {sandbox.labels[POD_UID] for sandbox in listed.items if sandbox.labels.get(POD_UID)}


@dataclass(frozen=True, slots=True)
class Places:
    """Where pods leave something."""

    logs: Path = Path("/var/log/pods")
    cgroups: str = MOUNT


def remove(uids: Iterable[str], places: Places | None = None, within_s: float = EMPTY_WITHIN_S) -> None:
    """Remove it for these pods. A pod with a process in its cgroup lives on elsewhere, and keeps its logs too."""
    found = places or Places()
    gone = {uid for uid in uids if _without_cgroups(uid, found.cgroups, within_s)}
    with suppress(OSError):
        for name in os.listdir(found.logs):
            if (parts := name.split("_", 2))[2:] and parts[2] in gone:
                shutil.rmtree(found.logs / name, ignore_errors=True)
                _unlink(links_dir(found.logs), f"{found.logs / name}/")


def _unlink(directory: str, inside: str) -> None:
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if os.readlink(entry.path).startswith(inside):
                    os.unlink(entry.path)


def _without_cgroups(uid: str, mount: str, within_s: float) -> bool:
    """Whether the pod has no cgroup any more in any hierarchy, by either driver's name."""
    try:
        names = {pod_cgroup(uid, qos, driver) for qos in QOS_CLASSES for driver in ("cgroupfs", SYSTEMD)}
    except PodherdError:
        return False
    until = time.monotonic() + within_s
    paths = [hierarchy + name for hierarchy in hierarchies(mount) for name in names]
    while paths := [path for path in paths if not _is_removed(path)]:
        if time.monotonic() > until:
            return False
        time.sleep(detached.POLL_S)
    return True


def _is_removed(path: str) -> bool:
    try:
        remove_tree(path)
    except OSError:
        return False
    return True


def main(words: list[str]) -> int:
    """The exit code."""
    try:
        uids = asyncio.run(_held(words[0]))
    except PodherdError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("".join(f"{uid}\n" for uid in sorted(uids)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
