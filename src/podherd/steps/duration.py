"""Durations as the kubelet's event texts show them."""


def text_of(seconds: float) -> str:
    """Go's notation, to the millisecond: `12ms`, `1.5s`, `2m3.25s`, `1h0m0s`; `0s` below a millisecond."""
    total_ms = int(seconds * 1000)
    if total_ms < 1000:
        return f"{total_ms}ms" if total_ms else "0s"
    minutes, rest_ms = divmod(total_ms, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{rest_ms / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
