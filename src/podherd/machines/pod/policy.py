"""What the operator decided about every pod, and the times between tries (kubelet behaviour, sections 2.3 and 3.5)."""

from dataclasses import dataclass
from zlib import crc32

from podherd.machines.backoff import BackOffRule

CRASH_RESET_S = 600.0
"""A container that ran this long past its last raise crashes as if for the first time; fixed, as in the kubelet."""
BACK_OFF_START_S = 10.0


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings of one shard's machine. host_ips: the node's addresses, its primary family first.

    runtime_name: the scheme of container ids in statuses. retry_s: pause after a failed sync.
    look_s: how long an asked-for observation may stay away before it is asked for again.
    recursive_read_only: runtime handlers that can make a mount read-only with all mounts below it; "" is the default
    one (CRI RuntimeHandlerFeatures). kernel: its version; (0, 0) when it is not known.
    """

    node_name: str
    runtime_name: str = "containerd"
    host_ips: tuple[str, ...] = ()
    sync_s: float = 60.0
    crash_loop_max_s: float = 300.0
    image_backoff_max_s: float = 300.0
    retry_s: float = 10.0
    look_s: float = 10.0
    recursive_read_only: tuple[str, ...] = ()
    allowed_unsafe_sysctls: tuple[str, ...] = ()
    kernel: tuple[int, int] = (0, 0)

    @property
    def crash_rule(self) -> BackOffRule:
        """Back-off of restarts, counted from a container's end."""
        return BackOffRule(BACK_OFF_START_S, self.crash_loop_max_s, CRASH_RESET_S)

    @property
    def pull_rule(self) -> BackOffRule:
        """Back-off of image pulls, counted from the last failure."""
        return BackOffRule(BACK_OFF_START_S, self.image_backoff_max_s, 2 * self.image_backoff_max_s)

    def retry_after_s(self, uid: str) -> float:
        """The pause after a failure, spread over pods so that a common cause does not bring them back at once."""
        return self.retry_s * spread(uid)

    def resync_after_s(self, uid: str) -> float:
        """The pause after a success, spread in the same way."""
        return self.sync_s * spread(uid)


def spread(uid: str) -> float:
    """1.0 to 1.5, the same for a uid every time: a machine throws no dice."""
    return 1.0 + crc32(uid.encode()) / 2**33
