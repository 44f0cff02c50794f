"""Times and durations as a story shows them."""

from datetime import datetime

MINUTE_S = 60.0


def local(at: float, dated: bool = True) -> str:
    """Epoch seconds in this machine's time zone: `2026-01-02 12:00:01.204`, or without the date."""
    moment = datetime.fromtimestamp(at).astimezone()
    form = "%Y-%m-%d %H:%M:%S" if dated else "%H:%M:%S"
    return f"{moment:{form}}.{moment.microsecond // 1000:03d}"


def is_one_day(times: list[float]) -> bool:
    """Whether all are of the same local day."""
    return len({datetime.fromtimestamp(at).date() for at in times}) <= 1


def took(seconds: float) -> str:
    """A duration in three digits or so: `0.4 ms`, `148 ms`, `1.48 s`, `75 s`."""
    millis = max(0.0, seconds) * 1000
    if millis < 1:
        return f"{millis:.1f} ms"
    if millis < 1000:
        return f"{millis:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
