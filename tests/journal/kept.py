"""A machine whose every turn is journaled, without an actor around it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from podherd.journal.journal import Journal
from podherd.journal.replay import Outcome, replay
from podherd.journal.segments import Segments, files, new_life

LARGE = 1 << 28


class NoTimer:
    """Nothing comes by itself: tests close the journal, or flush it by its size."""

    def cancel(self) -> None:
        """Nothing to do."""


def never(_delay_s: float, _call: Callable[[], None]) -> NoTimer:
    return NoTimer()


def journal_of(
    actor: str,
    machine: Any,
    root: Path,
    most_bytes: int = LARGE,
    said: list[tuple[str, str]] | None = None,
    at: float = 1_800_000_000.0,
) -> Journal:
    """The journal of an actor that begins `at`."""
    directory = root / actor
    directory.mkdir(exist_ok=True)
    life = new_life(directory, at)
    words = [] if said is None else said
    say = lambda what, why: words.append((what, why))  # noqa: E731
    journal = Journal(actor, machine, Segments(directory, life, most_bytes), life, say, never)
    journal.begin(at)
    return journal


class Kept:
    """In the place of a machine: the same, and its turns are kept."""

    def __init__(self, actor: str, machine: Any, root: Path, most_bytes: int = LARGE) -> None:
        self.machine = machine
        self.journal = journal_of(actor, machine, root, most_bytes)
        self.turns = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.machine, name)

    def handle(self, now: float, *events: Any) -> list[Any]:
        told: list[Any] = self.machine.handle(now, *events)
        self.journal.turn(now, events, b"", told)
        self.turns += 1
        return told


def replayed(root: Path, actor: str) -> Outcome:
    return replay(files(root / actor))
