"""Names of a container's log files (kubelet behaviour, section 3.10)."""

import re

_ATTEMPT = re.compile(r"([0-9]+)\.log(\..*)?\Z")


def attempt_of(name: str) -> int | None:
    """The attempt of `7.log`, and of what rotation made of it: `7.log.20260101-000000.gz`; None for another file."""
    match = _ATTEMPT.match(name)
    return int(match[1]) if match else None
