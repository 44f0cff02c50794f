"""Words and number forms of a v1.PodStatus (kubelet behaviour, section 6)."""

from datetime import UTC, datetime

PENDING = "Pending"
RUNNING = "Running"
SUCCEEDED = "Succeeded"
FAILED = "Failed"
TERMINAL = frozenset({SUCCEEDED, FAILED})
"""Phases that a pod never leaves."""

CONTAINER_CREATING = "ContainerCreating"
POD_INITIALIZING = "PodInitializing"
CRASH_LOOP_BACK_OFF = "CrashLoopBackOff"
IMAGE_PULL_BACK_OFF = "ImagePullBackOff"
STATUS_UNKNOWN = "ContainerStatusUnknown"
STATUS_UNKNOWN_EXIT = 137


def rfc3339(at: float) -> str:
    """Epoch seconds as the API writes times, cut to whole seconds: `2026-01-02T03:04:05Z`."""
    return f"{datetime.fromtimestamp(int(at), UTC):%Y-%m-%dT%H:%M:%S}Z"


def go_duration(seconds: float) -> str:
    """As Go prints whole seconds, `10s`, `1m20s`, `5m0s`, `1h0m0s`: tests and tools match such messages."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
