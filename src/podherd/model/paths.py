"""Field paths as Kubernetes writes them: `spec.containers[0].image`, `metadata.labels[app.kubernetes.io/name]`."""

import re
from collections.abc import Sequence
from typing import TypeAlias

Path: TypeAlias = Sequence[str | int]
"""Keys and list positions from the root of the object."""

_PLAIN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]*\Z")


def dotted(path: Path) -> str:
    """The path as one word."""
    words: list[str] = []
    for part in path:
        if isinstance(part, str) and _PLAIN.match(part):
            words.append(f".{part}" if words else part)
        else:
            words.append(f"[{part}]")
    return "".join(words)
