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
CREATE_CONFIG_ERROR = "CreateContainerConfigError"
POST_START_HOOK_ERROR = "PostStartHookError"
STATUS_UNKNOWN = "ContainerStatusUnknown"
STATUS_UNKNOWN_EXIT = 137
LOST_MESSAGE = "The container could not be located when the pod was terminated"
"""Message of a STATUS_UNKNOWN end."""


def rfc3339(at: float) -> str:
    """Epoch seconds as the API writes times, cut to whole seconds: `2026-01-02T03:04:05Z`."""
    return f"{datetime.fromtimestamp(int(at), UTC):%Y-%m-%dT%H:%M:%S}Z"


def epoch_of(text: str) -> float:
    """The API's time in epoch seconds; 0.0 for one that is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0


def rfc3339_micro(at: float) -> str:
    """The same with the fraction that a float of today holds: `2026-01-02T03:04:05.678901Z`."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S.%f}Z"


def go_duration(seconds: float) -> str:
    """As Go prints whole seconds, `10s`, `1m20s`, `5m0s`, `1h0m0s`: tests and tools match such messages."""
    return go_duration_ms(int(seconds))


def go_duration_ms(seconds: float) -> str:
    """The same to the millisecond: `12ms`, `1.5s`, `2m3.25s`; `0s` below a millisecond."""
    total_ms = int(seconds * 1000)
    if 0 < total_ms < 1000:
        return f"{total_ms}ms"
    minutes, rest_ms = divmod(total_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest_ms / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
