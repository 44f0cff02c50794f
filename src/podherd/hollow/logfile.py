"""Files that containers write: logs, in the CRI format `<RFC3339Nano> stdout F <text>`, and termination messages.

Kubelet behaviour, sections 3.8 and 3.10.
"""

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from cri_api.v1 import api_pb2 as api

_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"


def stamp(time_ns: int) -> str:
    """RFC 3339 in UTC with all nine digits of the nanoseconds."""
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest_ns:09d}Z"


def scripted(lines: int, text: str, time_ns: int) -> str:
    """What a container with `log-lines` and `log` prints at its start; 1 ns between two lines."""
    said = [f"line {n}" for n in range(1, lines + 1)] + text.splitlines()
    return "".join(f"{stamp(time_ns + n)} stdout F {line}\n" for n, line in enumerate(said))


def append(path: str, content: str) -> None:
    """Write at the end of the file, which is made when it is not there, its directory too. Raises OSError."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(content)


def write_last_words(encoded: bytes, words: str) -> None:
    """Write to the file that the container of this encoded status has at its terminationMessagePath, if it has one."""
    status = api.ContainerStatus.FromString(encoded)
    inside = status.annotations.get(_MESSAGE_PATH)
    for mount in status.mounts:
        if mount.container_path == inside:
            with suppress(OSError):
                Path(mount.host_path).write_text(words, encoding="utf-8")
