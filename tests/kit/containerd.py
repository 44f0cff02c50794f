"""A real containerd for tests: its own root, sample images imported, everything taken away at the end.

A test run that was killed leaves its containerd behind; the next run finds it by the dead pid in the directory's name.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from podherd.agent.provision import Containerd
from podherd.agent.provision.packages import install, missing

PREFIX = "podherd-cri-"
PLACE = Path("/tmp")


@contextmanager
def own_containerd(name: str = "root") -> Iterator[Containerd]:
    """A containerd of this process's own, with the sample images; `name` tells several apart."""
    sweep()
    install(missing(), print)
    root = PLACE / f"{PREFIX}{os.getpid()}" / name
    runtime = Containerd(root)
    try:
        runtime.start()
        runtime.import_samples(print)
        yield runtime
    finally:
        remove(root)


def remove(root: Path) -> None:
    """End whatever runs of it, then delete it."""
    Containerd(root).stop()
    shutil.rmtree(root)
    if not os.listdir(root.parent):
        root.parent.rmdir()


def sweep() -> None:
    """Take away what earlier, killed test runs left."""
    for place in PLACE.glob(f"{PREFIX}*"):
        owner = place.name.removeprefix(PREFIX)
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            for root in place.iterdir():
                remove(root)
