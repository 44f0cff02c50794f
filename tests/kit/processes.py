"""Processes as /proc shows them."""

from pathlib import Path


def command_line(pid: int) -> bytes:
    """With its NULs; empty for one that is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def parent_of(pid: int) -> int:
    """Raises OSError for one that is gone."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
