"""The writer of one actor's journal. It never raises and never waits: what goes wrong turns it off, with one word."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from podherd import __version__
from podherd.journal import entries, kinds, snapshot
from podherd.journal.segments import DIR_MODE, Segments, new_life
from podherd.model.settings import Settings
from podherd.steps.deeds import Deed
from podherd.wire.status import PodEvent

FLUSH_S = 0.25
"""How long an entry may stay in memory: a killed actor loses so much."""
FULL_BYTES = 1 << 20
"""What is written at once, however young it is."""
MIB = 1 << 20
PLAIN_REASONS = frozenset({"Created", "Started", "Killing"})
"""Events of a step that say no more than its plan and its CRI call."""

PRESENT = "already present on machine and can be accessed by the pod"
"""How the event of an image that needs no pull ends: nothing was done."""

Say = Callable[[str, str], None]
"""Takes what happened and the reason."""


class Timer(Protocol):
    """What `later` gives."""

    def cancel(self) -> None:
        """Do not call."""


Later = Callable[[float, Callable[[], None]], Timer]
"""Calls after so many seconds."""


def in_loop(delay_s: float, call: Callable[[], None]) -> Timer:
    """By the running event loop."""
    return asyncio.get_running_loop().call_later(delay_s, call)


class Journal:
    """One life of one actor. `machine` is what `turn` tells of; it is written whole at the head of each file."""

    def __init__(
        self, actor: str, machine: Any, segments: Segments, life: int, say: Say, later: Later = in_loop
    ) -> None:
        self._actor = actor
        self._machine = machine
        self._segments = segments
        self._life = life
        self._say = say
        self._later = later
        self._pack = kinds.packer().pack
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._turns = 0
        self._why_none = ""
        self._timer: Timer | None = None
        self._on = True

    def turn(self, now: float, own: Sequence[Any], frame: bytes, told: Sequence[Any]) -> None:
        """The machine has heard `own` events, then those of the frame (empty: none), and answered."""
        if self._on:
            self._put((entries.TURN, now, own, frame, told))
            self._turns += 1
            if self._segments.size_bytes + self._bytes >= self._segments.part_bytes:
                self._begin(now)

    def use(self, now: float, policy: Any) -> None:
        """The machine decides by another policy from now on."""
        if self._on:
            self._put((entries.USE, now, policy))

    def deed(self, deed: Deed) -> None:
        """Something was done for a pod."""
        if self._on:
            self._put((entries.DEED, deed))

    def event(self, event: PodEvent) -> None:
        """A step has recorded an event about a pod."""
        if self._on and event.reason not in PLAIN_REASONS and not event.message.endswith(PRESENT):
            self._put((entries.EVENT, event))

    def close(self) -> None:
        """Write what waits; nothing is taken any more."""
        if self._on:
            self._flush()
            self._end()

    def begin(self, now: float) -> None:
        """The first file, before the machine's first turn."""
        self._begin(now)

    def _begin(self, now: float) -> None:
        """Go on in a new file, which can be replayed by itself."""
        begin = (entries.HEAD, entries.FORMAT, self._actor, self._life, now, self._turns, __version__)
        head = (*begin, *self._whole(), kinds.fingerprint())
        self._flush()
        if self._on:
            self._guarded(self._segments.next)
            self._put(head)

    def _whole(self) -> tuple[bytes, str]:
        """The machine, or why it is left out: once it was too large, it is not tried again."""
        if self._why_none:
            return b"", self._why_none
        try:
            data = snapshot.taken(self._machine)
        except snapshot.SnapshotError as error:
            self._why_none = str(error)
        else:
            if len(data) <= self._segments.part_bytes:
                return data, ""
            self._why_none = f"the machine is larger than {self._segments.part_bytes / MIB:.3g} MiB"
        self._say(
            "journal goes on without what a replay needs",
            f"{self._why_none}; raise journalMB under podherd: in the configuration",
        )
        return b"", self._why_none

    def _put(self, entry: tuple[Any, ...]) -> None:
        try:
            data = self._pack(entry)
        except Exception as error:
            self._off(f"{type(error).__name__}: {error}")
            return
        self._waiting.append(data)
        self._bytes += len(data)
        if self._bytes >= FULL_BYTES:
            self._flush()
        elif self._timer is None:
            self._timer = self._later(FLUSH_S, self._flush)

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting:
            data, self._waiting, self._bytes = b"".join(self._waiting), [], 0
            self._guarded(lambda: self._segments.write(data))

    def _guarded(self, deed: Callable[[], None]) -> None:
        try:
            deed()
        except OSError as error:
            self._off(error.strerror or str(error))

    def _off(self, reason: str) -> None:
        if self._on:
            self._say("journal is off", reason)
            self._end()

    def _end(self) -> None:
        self._on = False
        self._waiting = []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._segments.close()


class NoJournal:
    """Takes everything and keeps nothing."""

    def turn(self, now: float, own: Sequence[Any], frame: bytes, told: Sequence[Any]) -> None:
        """Nothing."""

    def use(self, now: float, policy: Any) -> None:
        """Nothing."""

    def deed(self, deed: Deed) -> None:
        """Nothing."""

    def event(self, event: PodEvent) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


def directory_of(root_dir: Path) -> Path:
    """Where the journals of all actors are."""
    return root_dir / "journal"


def opened(settings: Settings, actor: str, machine: Any, now: float, say: Say) -> Journal | NoJournal:
    """The journal of an actor that begins; none where the settings want none or the directory cannot be had."""
    if settings.journal_mb <= 0:
        return NoJournal()
    top = directory_of(settings.root_dir)
    directory = top / actor
    try:
        for path in (top, directory):
            path.mkdir(DIR_MODE, exist_ok=True)
            path.chmod(DIR_MODE)
        life = new_life(directory, now)
    except OSError as error:
        say("journal is off", f"{directory}: {error.strerror}")
        return NoJournal()
    journal = Journal(actor, machine, Segments(directory, life, settings.journal_mb * MIB), life, say)
    journal.begin(now)
    return journal
