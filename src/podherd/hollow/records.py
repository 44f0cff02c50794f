"""One sandbox and one container: what does not change is encoded once, at creation; what changes is put behind it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from podherd.hollow.encode import block, number, text
from podherd.hollow.script import Marks
from podherd.hollow.timers import Timer

CREATED, RUNNING, EXITED = 0, 1, 2
"""Values of runtime.v1.ContainerState."""
STATE_NAMES = ("CONTAINER_CREATED", "CONTAINER_RUNNING", "CONTAINER_EXITED", "CONTAINER_UNKNOWN")


@dataclass(slots=True, eq=False)
class Sandbox:
    """A pod sandbox. `entry_head`: PodSandbox without state; `status_head`: PodSandboxStatus without state, network."""

    id: str
    reserved: str
    """The name that only one sandbox may hold: name_namespace_uid_attempt."""
    name: str
    namespace: str
    uid: str
    attempt: int
    labels: dict[str, str]
    marks: Marks
    runtime_handler: str
    ip: str
    """Empty on the host's network."""
    created_ns: int = 0
    ready: bool = False
    network_up: bool = True
    """False from StopPodSandbox on: the status has no address then."""
    containers: dict[str, "Container"] = field(default_factory=dict)
    entry_head: bytes = b""
    status_head: bytes = b""

    def entry(self) -> bytes:
        """The entry of ListPodSandboxResponse.items."""
        return block(b"\x0a", self.entry_head if self.ready else self.entry_head + b"\x18\x01")

    def status(self) -> bytes:
        """The PodSandboxStatus message."""
        network = block(b"\x2a", text(b"\x0a", self.ip if self.network_up else ""))
        return self.status_head + (b"" if self.ready else b"\x18\x01") + network


@dataclass(slots=True, eq=False)
class Container:
    """A container. `entry_head`: Container without state; `status_head`: ContainerStatus without what is below."""

    id: str
    sandbox: Sandbox
    reserved: str
    """The name that only one container may hold: container_pod_namespace_uid_attempt."""
    name: str
    attempt: int
    labels: dict[str, str]
    marks: Marks
    image: str
    image_id: str
    log_path: str
    created_ns: int = 0
    state: int = CREATED
    started_ns: int = 0
    finished_ns: int = 0
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    resources: bytes = b""
    """An encoded ContainerResources; empty: none."""
    starting: bool = False
    removed: bool = False
    term_sent: bool = False
    own_exit: Timer | None = None
    on_exit: list[Callable[[], None]] = field(default_factory=list)
    """Called once at the exit: StopContainer calls that wait for it."""
    entry_head: bytes = b""
    status_head: bytes = b""

    def entry(self) -> bytes:
        """The entry of ListContainersResponse.containers."""
        return block(b"\x0a", self.entry_head + number(b"\x30", self.state))

    def status(self) -> bytes:
        """The ContainerStatus message."""
        changing = (
            number(b"\x18", self.state)
            + number(b"\x28", self.started_ns)
            + number(b"\x30", self.finished_ns)
            + number(b"\x38", self.exit_code)
            + text(b"\x52", self.reason)
            + text(b"\x5a", self.message)
        )
        return self.status_head + changing + (block(b"\x82\x01", self.resources) if self.resources else b"")
