"""An actor's log lines go to the agent's own stderr, through a named pipe that the parent reads.

Ray redirects a worker's output to files of its session; a user looks at the agent. A line is written whole or not at
all: when the pipe is full or nobody reads it, the line goes to the worker's own stderr.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Any

import structlog

from podherd.model.settings import Settings

LINE_BYTES = 4096
"""PIPE_BUF: longer writes may be torn (pipe(7))."""


def pipe_path(settings: Settings) -> Path:
    """The named pipe that the parent made."""
    return settings.root_dir / "run" / "log"


class LinePipe:
    """A file of lines for structlog; opens the pipe again when its reader has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pipe: int | None = None

    def write(self, text: str) -> int:
        """Send one line, ending included."""
        if not self._sent(text.encode(errors="replace")[: LINE_BYTES - 1]):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def _sent(self, line: bytes) -> bool:
        line = line if line.endswith(b"\n") else line + b"\n"
        try:
            if self._pipe is None:
                self._pipe = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.write(self._pipe, line)
        except BlockingIOError:
            return False
        except OSError:
            if self._pipe is not None:
                os.close(self._pipe)
                self._pipe = None
            return False
        return True


def configure(settings: Settings) -> None:
    """Set structlog for this process: one `key=value` line an event, at the level of the settings."""
    level = logging.getLevelNamesMapping().get(settings.log_level.upper(), logging.INFO)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=False),
            structlog.processors.StackInfoRenderer(),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "actor", "event"]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(LinePipe(pipe_path(settings))),  # type: ignore[arg-type]
        cache_logger_on_first_use=True,
    )


def logger(name: str) -> Any:
    """The logger of an actor."""
    return structlog.get_logger().bind(actor=name)
