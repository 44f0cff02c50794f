"""What the parent and the driver say to each other over their socket: lines; the first one holds the settings."""

import json
import pickle
import socket
from dataclasses import dataclass, field
from typing import Any

from podherd.model.settings import Settings

STOP = b"stop\n"
DRAIN = b"drain\n"


def send_settings(driver: socket.socket, settings: Settings) -> None:
    """The parent's first line."""
    driver.sendall(pickle.dumps(settings).hex().encode() + b"\n")


def settings_of(parent: socket.socket) -> Settings:
    """The settings from the parent's first line; whatever follows stays unread."""
    with parent.makefile("rb", buffering=0) as lines:
        settings: Settings = pickle.loads(bytes.fromhex(lines.readline().decode()))
        return settings


def report(**words: Any) -> bytes:
    """A line of the driver: `pids` by name and whether `complete`; `drained`; or `failed` with the reason."""
    return json.dumps(words).encode() + b"\n"


@dataclass(slots=True)
class Reports:
    """Bytes from the driver, line by line."""

    _rest: bytes = field(default=b"")

    def feed(self, data: bytes) -> list[dict[str, Any]]:
        """The reports that are complete now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]
