"""Go's text form of a duration, as API objects and configuration have it."""

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ms|us|µs|μs|ns|h|m|s)")


def seconds_of(text: object) -> float:
    """`1h30m` -> 5400. Raises ValueError, also for what is no text."""
    parts = _PART.findall(text) if isinstance(text, str) else []
    if text == "0":
        return 0.0
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration such as 20s, 1m30s or 500ms")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
