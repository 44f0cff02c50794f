"""Processes of Linux, without any library: subreaper, parent-death signal, trees, orphans (prctl(2), proc(5))."""

import ctypes
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL_S = 0.01

_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper(on: bool = True) -> None:
    """Processes below this one whose parent dies become its children, not those of init."""
    _prctl(_PR_SET_CHILD_SUBREAPER, int(on))


def die_with_parent() -> None:
    """SIGKILL this process when the thread that started it ends; for a child between fork and exec."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, argument: int) -> None:
    if _libc.prctl(option, argument, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def children() -> set[int]:
    """This process's children, zombies too."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):
        try:
            found.update(map(int, Path(f"/proc/self/task/{task}/children").read_text().split()))
        except OSError:
            continue
    return found


def _parents() -> dict[int, int]:
    """The parent of every process: field 4 of /proc/PID/stat, behind the name, which may hold anything."""
    found = {}
    for pid in all_pids():
        try:
            found[pid] = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
    return found


def tree(roots: Iterable[int]) -> set[int]:
    """The living among `roots` and every process below them."""
    parents = _parents()
    wanted = {pid for pid in roots if pid in parents}
    while grown := {pid for pid, parent in parents.items() if parent in wanted} - wanted:
        wanted |= grown
    return wanted


def kill(pids: Iterable[int], number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal to each; one that is gone is fine, and one of another user's is beyond our reach."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def kill_tree(roots: Iterable[int]) -> set[int]:
    """SIGKILL everything at and below `roots`; what was killed. Stopped first, so that nothing is born meanwhile."""
    killed: set[int] = set()
    roots = set(roots)
    while found := {pid for pid in tree(roots) - killed if not is_dead(pid)}:
        kill(found, signal.SIGSTOP)
        killed |= found
    kill(killed)
    return killed


def is_dead(pid: int) -> bool:
    """Whether the process is gone or a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (OSError, IndexError):
        return True


def environment_value(pid: int, name: str) -> str:
    """A variable of the environment that the process was started with; empty for none, and for the dead."""
    wanted = f"{name}=".encode()
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((word[len(wanted) :].decode(errors="replace") for word in words if word.startswith(wanted)), "")


def all_pids() -> list[int]:
    """Every process of this pid namespace."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def bury(pids: Iterable[int]) -> None:
    """Collect those that are our children and have ended."""
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue


def wait_dead(pids: Iterable[int], seconds: float) -> set[int]:
    """Wait until all have ended (a zombie has); those that had not in time."""
    left, deadline = set(pids), time.monotonic() + seconds
    while left := {pid for pid in left if not is_dead(pid)}:
        if time.monotonic() > deadline:
            break
        time.sleep(_POLL_S)
    return left
