"""The last words of a container that has ended: its termination message (kubelet behaviour, section 3.8).

They are what it wrote to its terminationMessagePath, else, under FallbackToLogsOnError, the end of its log. Both files
are open to whatever runs in the pod, so nothing but a regular file at the very place is read, and little of it.
"""

import os
import stat
from pathlib import Path

from cri_api.v1 import api_pb2 as pb

from podherd.cri.log_lines import Joiner
from podherd.model import keys

MESSAGE_BYTES = 4096
LOG_BYTES = 2048
LOG_LINES = 80
POD_BYTES = 12 << 10
"""For all containers of a pod together, in equal parts."""
LOG_TAIL_BYTES = 64 << 10
"""So much of the log is read: LOG_BYTES in lines of a few bytes, or the longest entry that runtimes write."""
FALLBACK = "FallbackToLogsOnError"
_CANNOT_RUN = "ContainerCannotRun"
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class LastWords:
    """Reads below these two directories, whose own way there may have symlinks."""

    def __init__(self, root_dir: Path, pod_logs_dir: Path) -> None:
        self._own = f"{root_dir}/pods/"
        self._pods = os.path.realpath(root_dir / "pods")
        self._logs = os.path.realpath(pod_logs_dir)

    def is_due(self, status: pb.ContainerStatus) -> bool:
        """Whether there may be any to read: it has ended, and has written some or would have its log read.

        Made for an event loop: one system call for a container that has ended, and none for another.
        """
        if status.state != pb.CONTAINER_EXITED:
            return False
        if _falls_back(status):
            return True
        if not (path := _message_path(status)):
            return False
        if not self._is_own(path):
            return True
        try:
            return os.lstat(path).st_size > 0
        except OSError:
            return False

    def _is_own(self, path: str) -> bool:
        """Whether it is the agent's own file, on a disk of the node's: to ask for its size takes no time."""
        return path.startswith(self._own) and path[len(self._own) :].split("/")[1:2] == ["containers"]

    def add(self, status: pb.ContainerStatus, sharers: int) -> None:
        """Put them behind the runtime's own message. Reads files; sharers: how many containers the pod has."""
        limit = POD_BYTES // max(1, sharers)
        words = self._message(status)
        if not words and _falls_back(status):
            words = self._log(status.log_path)
        if words:
            told = f"{status.message}: {words}" if status.message else words
            status.message = told.encode()[:limit].decode(errors="ignore")

    def _message(self, status: pb.ContainerStatus) -> str:
        if not (path := _message_path(status)):
            return ""
        try:
            return _text(_tail(path, self._pods, MESSAGE_BYTES))
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"Error on reading termination log {path}: {error.strerror}"

    def _log(self, path: str) -> str:
        """The end of what it printed; a log that cannot be read says nothing."""
        try:
            return _text(_printed(_tail(path, self._logs, LOG_TAIL_BYTES)))
        except OSError:
            return ""


def _falls_back(status: pb.ContainerStatus) -> bool:
    policy = status.annotations.get(keys.CONTAINER_TERMINATION_MESSAGE_POLICY)
    return policy == FALLBACK and status.exit_code != 0 and status.reason != _CANNOT_RUN


def _message_path(status: pb.ContainerStatus) -> str:
    """The host's file that the container saw at its terminationMessagePath, empty for none."""
    inside = status.annotations.get(keys.CONTAINER_TERMINATION_MESSAGE_PATH)
    if not inside:
        return ""
    return next((mount.host_path for mount in status.mounts if mount.container_path == inside), "")


def _tail(path: str, home: str, limit: int) -> bytes:
    """The last bytes of a regular file, at whose beginning a line may be torn.

    Raises OSError; also for a path that a symlink below `home`, or anywhere if it is not below, leads elsewhere.
    """
    fd = os.open(path, _FLAGS)
    try:
        facts = os.fstat(fd)
        real = os.readlink(f"/proc/self/fd/{fd}")
        if not stat.S_ISREG(facts.st_mode) or not (real == path or real.startswith(f"{home}/")):
            raise OSError(0, "not a regular file of the pod", path)
        return os.pread(fd, limit, max(0, facts.st_size - limit))
    finally:
        os.close(fd)


def _text(data: bytes) -> str:
    """As UTF-8; a character that the limit has cut at the front is left out, other bytes are replaced."""
    start = 0
    while start < min(3, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:].decode(errors="replace")


def _printed(log: bytes) -> bytes:
    """The last LOG_LINES lines of a CRI log, LOG_BYTES at most, as the container wrote them."""
    if len(log) == LOG_TAIL_BYTES:
        log = log.partition(b"\n")[2]  # its first line may be torn
    joiner = Joiner()
    lines = [*joiner.feed(log), *joiner.finish()]
    return b"".join(lines[-LOG_LINES:])[-LOG_BYTES:]
