"""The entries of a journal file: one msgpack array each, its first item says which."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgpack

from podherd.errors import PodherdError
from podherd.journal.kinds import Packed

FORMAT = 1
HEAD, TURN, USE, DEED, EVENT = range(5)
MOST_BYTES = 2**31 - 1


class JournalError(PodherdError):
    """A journal cannot be read."""


@dataclass(frozen=True, slots=True)
class Head:
    """How each file begins. life: epoch milliseconds of the actor's start. turns: how many its life had before this.

    snapshot: the machine before the first turn of this file (`journal.snapshot`); empty where it is not kept.
    why_none: the reason for that.
    """

    actor: str
    life: int
    at: float
    turns: int
    version: str
    snapshot: bytes
    why_none: str


@dataclass(frozen=True, slots=True)
class Turn:
    """One call of the machine: events that arose in the actor, then those of the frame; what it answered."""

    at: float
    own: tuple[Packed, ...]
    frame: bytes
    told: tuple[Packed, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """The machine decides by this policy from now on."""

    at: float
    policy: Packed


@dataclass(frozen=True, slots=True)
class Did:
    """A Deed."""

    deed: Packed


@dataclass(frozen=True, slots=True)
class Said:
    """A PodEvent of a step."""

    event: Packed


Entry: TypeAlias = Head | Turn | Use | Did | Said
_KINDS: dict[int, type[Any]] = {HEAD: Head, TURN: Turn, USE: Use, DEED: Did, EVENT: Said}


def entries(path: Path) -> Iterator[Entry | str]:
    """The entries of one file in order. What cannot be read ends them, with a text that says so.

    Raises JournalError for a file that is no journal, or cannot be opened.
    """
    try:
        with path.open("rb") as file:
            yield from _entries(path, file)
    except OSError as error:
        mend = "it belongs to root: sudo" if isinstance(error, PermissionError) else ""
        raise JournalError(str(path), f"cannot be read: {error.strerror}", mend) from error


def _entries(path: Path, file: Any) -> Iterator[Entry | str]:
    unpacker = msgpack.Unpacker(
        file, use_list=False, strict_map_key=False, unicode_errors="surrogatepass", max_buffer_size=MOST_BYTES
    )
    at, size = 0, path.stat().st_size
    while at < size:
        try:
            entry = _entry(unpacker.unpack())
        except (msgpack.UnpackException, ValueError, TypeError, KeyError, IndexError) as error:
            if at == 0:
                raise JournalError(str(path), "is no journal of podherd", "name a file or directory of one") from error
            yield f"{path.name}: the last {size - at} bytes are not whole and left out"
            return
        if at == 0 and not isinstance(entry, Head):
            raise JournalError(str(path), "is no journal of podherd", "name a file or directory of one")
        at = unpacker.tell()
        yield entry


def _entry(array: Any) -> Entry:
    if array[0] == HEAD:
        if array[1] != FORMAT:
            raise JournalError("journal", f"has format {array[1]}, this podherd reads {FORMAT}", "use its own version")
        return Head(*array[2:])
    entry: Entry = _KINDS[array[0]](*array[1:])
    return entry
