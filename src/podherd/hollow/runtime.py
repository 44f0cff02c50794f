"""The pretend runtime as one thing: its ledger, its images, and what befalls a node (kill, wipe, reboot). No gRPC."""

from random import Random

from podherd.hollow.containers import Containers
from podherd.hollow.images import Images
from podherd.hollow.ledger import Ledger
from podherd.hollow.records import RUNNING, Container, Sandbox
from podherd.hollow.refusal import RefusedError
from podherd.hollow.sandboxes import Sandboxes
from podherd.hollow.script import Script
from podherd.hollow.timers import Timers

LOST = 255
"""Exit code of a container whose process was gone when the runtime came back (containerd; reason Unknown)."""


class Runtime:
    """Everything behind the calls. The clock and the heap of timers come from outside, ids from `random`."""

    def __init__(self, timers: Timers, random: Random | None = None, shuffle: bool = False) -> None:
        self.timers = timers
        self.ledger = Ledger(timers, random or Random(), shuffle)
        self.images = Images()
        self.containers = Containers(self.ledger, self.images)
        self.sandboxes = Sandboxes(self.ledger, self.containers)

    def use(self, script: Script) -> None:
        """Follow this script from now on; what it preloads is there, exits that are already timed stay timed."""
        self.ledger.script = script
        for reference in script.images:
            self.images.add(reference, pinned="/pause" in reference)

    def find_sandbox(self, pod: str) -> Sandbox:
        """The newest ready sandbox (or the newest at all) of a pod, by `namespace/name`, name or sandbox id."""
        ledger = self.ledger
        found = [s for s in ledger.sandboxes.values() if pod in (s.name, f"{s.namespace}/{s.name}", s.id)]
        if not found:
            raise RefusedError("NOT_FOUND", f'no sandbox of pod "{pod}"')
        return max(found, key=lambda s: (s.ready, s.attempt, s.created_ns))

    def find_container(self, pod: str, name: str) -> Container:
        """The running container (or the newest) of this name in any sandbox of the pod."""
        pods = [s for s in self.ledger.sandboxes.values() if pod in (s.name, f"{s.namespace}/{s.name}", s.id)]
        found = [c for s in pods for c in s.containers.values() if c.name == name]
        if not found:
            raise RefusedError("NOT_FOUND", f'no container "{name}" in pod "{pod}"')
        return max(found, key=lambda c: (c.state == RUNNING, c.attempt, c.created_ns))

    def wipe(self) -> None:
        """Forget all sandboxes and containers; the images stay."""
        self.ledger.clear()

    def reboot(self) -> None:
        """The node went down and came back: no sandbox is ready, what ran exited 255 (Unknown)."""
        for container in list(self.ledger.containers.values()):
            self.containers.exit(container, LOST, "Unknown")
        for sandbox in list(self.ledger.sandboxes.values()):
            sandbox.network_up = False
            self.sandboxes.lose(sandbox)
