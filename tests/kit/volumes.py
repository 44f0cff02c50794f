"""Pods with volumes on real directories, and the mounts that they make."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from podherd.cri.convert import Host
from podherd.model.pod import Pod
from podherd.model.view import pod_of
from podherd.volumes.ready import Site


def make_pod(*resources: dict[str, Any], spec: dict[str, Any] | None = None, **metadata: Any) -> Pod:
    """A pod `d/p` with containers `c0`, `c1`… of these resources."""
    containers = [
        {"name": f"c{n}", "image": "i", "imagePullPolicy": "Never", "resources": one}
        for n, one in enumerate(resources or ({},))
    ]
    whole = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, **(spec or {}), "containers": containers}
    return pod_of({"metadata": {"uid": "u1", "name": "p", "namespace": "d", **metadata}, "spec": whole})


def make_site(pod_dir: str = "/none", pod: Pod | None = None, memory_bytes: int = 1 << 30) -> Site:
    """A place for volumes of a pod."""
    return Site(pod or make_pod(), pod_dir, Host(memory_bytes, cpu_milli=2000))


def mounts_below(path: Path | str) -> list[tuple[str, str, str]]:
    """Mount point, type and options of every mount below a path, in the order in which they were made."""
    words = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return [(word[1], word[2], word[3]) for word in words if word[1].startswith(f"{path}/")]


@contextmanager
def unmounted_after(path: Path) -> Iterator[None]:
    """Whatever is mounted below the path at the end is unmounted, the last first."""
    try:
        yield
    finally:
        while mounts := mounts_below(path):  # one may take copies of itself along
            subprocess.run(["umount", os.fsencode(mounts[-1][0])], check=True)
