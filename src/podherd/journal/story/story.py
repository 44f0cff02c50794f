"""The story of one pod from the journals of a root directory: the agent may be stopped and the pod gone."""

from collections.abc import Callable
from pathlib import Path

from podherd.journal.entries import Head, JournalError, entries, trouble_of
from podherd.journal.journal import directory_of
from podherd.journal.segments import files
from podherd.journal.story.line import Kind, Line
from podherd.journal.story.shard_ear import ShardEar
from podherd.journal.story.sources_ear import SourcesEar
from podherd.journal.story.status_ear import StatusEar
from podherd.journal.story.tale import Key, NoStoryError, Tale
from podherd.wire.routes import POD_SHARD, SOURCES, STATUS, role_of

EARS: dict[str, Callable[[Tale], SourcesEar | ShardEar | StatusEar]] = {
    SOURCES: SourcesEar, POD_SHARD: ShardEar, STATUS: StatusEar,
}  # fmt: skip


def story(root_dir: Path, word: str, namespace: str = "") -> tuple[Key, list[Line], list[str]]:
    """The pod that is meant, its lines in the order of time, and what could not be read.

    word: `name`, `namespace/name`, or a static pod's name without the node's. Raises JournalError, NoStoryError.
    """
    own_namespace, _, name = word.rpartition("/")
    tale, notes = Tale(name, own_namespace or namespace), list[str]()
    for actor, paths in _journals(root_dir).items():
        notes += _hear(tale, actor, paths)
    try:
        key = tale.meant()
    except NoStoryError as error:
        error.notes = tuple(notes)
        raise
    return key, tale.told(key), notes


def _journals(root_dir: Path) -> dict[str, list[Path]]:
    top = directory_of(root_dir)
    try:
        found = {path.name: files(path) for path in sorted(top.iterdir()) if path.is_dir()}
    except FileNotFoundError as error:
        mend = "check --root-dir; journalMB 0 keeps none"
        raise JournalError(str(top), "there is no journal", mend) from error
    except OSError as error:
        raise JournalError(str(top), f"cannot be read: {error.strerror}", "it belongs to root: sudo") from error
    return {actor: paths for actor, paths in found.items() if role_of(actor) in EARS}


def _hear(tale: Tale, actor: str, paths: list[Path]) -> list[str]:
    """One actor's files, the oldest first. What one of them spoils, the others still tell."""
    ear, lives, notes = EARS[role_of(actor)](tale), [0], list[str]()
    for path in paths:
        try:
            for entry in entries(path):
                if isinstance(entry, str):
                    notes.append(f"{actor}: {entry}")
                    continue
                with trouble_of(path):
                    if isinstance(entry, Head):
                        _note_life(tale, entry, lives)
                    ear.hear(entry)
        except JournalError as error:
            if path.exists():  # one that gave way to a newer one meanwhile is no trouble
                notes.append(f"{actor}: {path.name}: {error.reason}")
    return notes


def _note_life(tale: Tale, head: Head, lives: list[int]) -> None:
    if head.life != lives[-1]:
        words = "starts anew: it learns what is wanted and what runs" if lives[-1] else "starts"
        tale.general.append(Line(head.at, Kind.AGENT, f"{head.actor} {words}", head.actor))
        lives.append(head.life)
