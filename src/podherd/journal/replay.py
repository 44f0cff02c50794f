"""A journal run again: the same machine, the same events at the same times; it must say the same."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podherd import __version__
from podherd.errors import WireError
from podherd.journal import kinds, snapshot
from podherd.journal.difference import Difference, first_difference
from podherd.journal.entries import Entry, Head, JournalError, Turn, Use, entries, trouble_of
from podherd.journal.fits import checked
from podherd.journal.inputs import events_of
from podherd.journal.segments import files
from podherd.machines.node_machine import NodeMachine
from podherd.machines.pleg.machine import PlegMachine
from podherd.machines.pod.instructions import Fault
from podherd.machines.pod.machine import ShardMachine
from podherd.machines.sources import SourcesMachine
from podherd.machines.status import StatusMachine
from podherd.wire import codec
from podherd.wire.routes import NODE, PLEG, POD_SHARD, SOURCES, STATUS, role_of

MACHINES: dict[str, type] = {
    SOURCES: SourcesMachine, PLEG: PlegMachine, POD_SHARD: ShardMachine, NODE: NodeMachine, STATUS: StatusMachine,
}  # fmt: skip
"""By the role of their actor."""
OTHER_CODE = "written by other code; differences may come from that"


@dataclass(frozen=True, slots=True)
class Differs:
    """The first turn that is not as it was. turn: its number in the actor's life, from 1. heard: its events' kinds."""

    file: str
    turn: int
    at: float
    heard: tuple[str, ...]
    difference: Difference


@dataclass(slots=True)
class Outcome:
    """What became of one actor's journal. notes: what was left out, and why."""

    actor: str
    turns: int = 0
    instructions: int = 0
    differs: Differs | None = None
    notes: list[str] = field(default_factory=list)


def journals(path: Path) -> list[list[Path]]:
    """The files of each actor at `path`: one file, an actor's directory, or the directory of several.

    Raises JournalError where there are none.
    """
    try:
        if not path.is_dir():
            return [[path]]
        found = [files(each) for each in (path, *sorted(path.iterdir())) if each.is_dir()]
    except OSError as error:
        mend = "it belongs to root: sudo" if isinstance(error, PermissionError) else ""
        raise JournalError(str(path), f"cannot be read: {error.strerror}", mend) from error
    if not any(found):
        raise JournalError(str(path), "holds no journal", "name ROOT/journal, ROOT/journal/ACTOR or a file in it")
    return [each for each in found if each]


def replay(paths: Iterable[Path], outcome: Outcome | None = None) -> Outcome:
    """Run one actor's files, the oldest first, to the first difference. Raises JournalError for files that are none.

    outcome: is filled on the way, so that its notes are there after an error too.
    """
    outcome = outcome or Outcome("")
    for path in paths:
        _Run(path, outcome).through()
        if outcome.differs is not None:
            break
    return outcome


class _Run:
    """One file: it begins with its machine, or is passed over."""

    def __init__(self, path: Path, outcome: Outcome) -> None:
        self._path = path
        self._outcome = outcome
        self._machine: Any = None
        self._turn = 0

    def through(self) -> None:
        """Raises JournalError for a file that holds anything but a journal, whatever it is."""
        for entry in entries(self._path):
            with trouble_of(self._path):
                if not self._hear(entry):
                    return

    def _hear(self, entry: Entry | str) -> bool:
        """Whether to go on."""
        match entry:
            case str():
                self._outcome.notes.append(entry)
            case Head():
                return self._begin(entry)
            case Use():
                self._machine.use(kinds.built(entry.policy))
            case Turn():
                return self._same(entry)
        return True

    def _begin(self, head: Head) -> bool:
        self._outcome.actor = head.actor
        self._turn = head.turns
        if not head.snapshot:
            self._outcome.notes.append(f"{self._path.name}: cannot be replayed: {head.why_none}")
            return False
        if head.version != __version__:
            self._outcome.notes.append(f"{self._path.name}: written by podherd {head.version}, this is {__version__}")
        elif head.code != kinds.fingerprint():
            self._outcome.notes.append(f"{self._path.name}: {OTHER_CODE}")
        self._machine = self._restored(head)
        return True

    def _restored(self, head: Head) -> Any:
        try:
            machine = snapshot.restored(head.snapshot)
        except snapshot.SnapshotError as error:
            raise JournalError(str(self._path), f"its machine cannot be read: {error.reason}", error.mend) from error
        if (kind := MACHINES.get(role_of(head.actor))) is None:
            raise JournalError(str(self._path), f"is of {head.actor!r:.80}, an actor that has no machine")
        if not isinstance(machine, kind):
            raise JournalError(str(self._path), f"holds a {type(machine).__name__} in place of a {kind.__name__}")
        return machine

    def _same(self, turn: Turn) -> bool:
        self._turn += 1
        try:
            events = list(_events(self._outcome.actor, turn))
        except WireError as error:
            raise JournalError(f"{self._path}, turn {self._turn}", error.reason, error.mend) from error
        told = self._told(turn.at, events)
        self._outcome.turns += 1
        self._outcome.instructions += len(turn.told)
        if (difference := first_difference(turn.told, told)) is None:
            return True
        heard = tuple(type(event).__name__ for event in events)
        self._outcome.differs = Differs(self._path.name, self._turn, turn.at, heard, difference)
        return False

    def _told(self, at: float, events: list[Any]) -> tuple[kinds.Packed, ...]:
        try:
            return tuple(kinds.plain(each) for each in self._machine.handle(at, *events))
        except Exception as error:  # a machine that throws today and did not then: that is a difference
            return (kinds.plain(Fault("", error)),)


def _events(actor: str, turn: Turn) -> Iterator[Any]:
    yield from (kinds.built(each) for each in turn.own)
    if turn.frame:
        yield from events_of(actor, [checked(message) for message in codec.decode(turn.frame).messages])
