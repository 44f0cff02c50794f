"""The entries of a journal file: one msgpack array each, its first item says which."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgpack

from podherd.errors import PodherdError, WireError
from podherd.journal.fits import checked
from podherd.journal.kinds import Packed, is_packed, kind_name
from podherd.machines.pod.policy import Policy
from podherd.steps.deeds import Deed
from podherd.wire.status import PodEvent

FORMAT = 1
HEAD, TURN, USE, DEED, EVENT = range(5)
MOST_BYTES = 2**31 - 1
MOST_S = 6e10
"""Times are this near to the epoch, some 1,900 years: what is farther away is none, and no calendar holds it."""


class JournalError(PodherdError):
    """A journal cannot be read."""


@dataclass(frozen=True, slots=True)
class Head:
    """How each file begins. life: epoch milliseconds of the actor's start. turns: how many its life had before this.

    snapshot: the machine before the first turn of this file (`journal.snapshot`); empty where it is not kept.
    why_none: the reason for that. code: `kinds.fingerprint` of what wrote it; empty in files older than that field.
    """

    actor: str
    life: int
    at: float
    turns: int
    version: str
    snapshot: bytes
    why_none: str
    code: str = ""


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
_HOLDS: dict[type, type] = {Use: Policy, Did: Deed, Said: PodEvent}


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


@contextmanager
def trouble_of(path: Path) -> Iterator[None]:
    """Whatever goes wrong with what stands in this file is a JournalError of it: a file may hold anything."""
    try:
        yield
    except JournalError:
        raise
    except WireError as error:
        raise JournalError(str(path), error.reason, error.mend) from error
    except Exception as error:
        raise JournalError(str(path), f"holds what cannot be read: {type(error).__name__}: {error}") from error


def _entries(path: Path, file: Any) -> Iterator[Entry | str]:
    at, size = 0, path.stat().st_size
    unpacker = msgpack.Unpacker(
        file, use_list=False, strict_map_key=False, unicode_errors="surrogatepass", max_buffer_size=MOST_BYTES,
        max_array_len=size, max_map_len=size,
    )  # fmt: skip
    while at < size:
        array = _array(unpacker)
        if at == 0 and not (array and array[0] == HEAD):
            raise JournalError(str(path), "is no journal of podherd", "name a file or directory of one")
        if array is None:
            yield f"{path.name}: the last {size - at} bytes are not whole and left out"
            return
        with trouble_of(path):
            entry = _entry(array)
        at = unpacker.tell()
        yield entry


def _array(unpacker: msgpack.Unpacker) -> tuple[Any, ...] | None:
    """The next one; None where something else stands, as zeros do after a crash of the host."""
    try:
        array = unpacker.unpack()
    except (msgpack.UnpackException, ValueError, TypeError):
        return None
    return array if isinstance(array, tuple) else None


def _entry(array: tuple[Any, ...]) -> Entry:
    """Raises WireError, and TypeError or IndexError for too many or too few values."""
    if not is_packed(array) or array[0] not in _KINDS:
        raise WireError("journal", f"holds an entry that this podherd does not know: {array!r:.80}")
    number, *values = array
    if number == HEAD and (form := values.pop(0)) != FORMAT:
        raise WireError("journal", f"has format {form!r:.80}, this podherd reads {FORMAT}", "use its own version")
    entry: Entry = checked(_KINDS[number](*values))
    match entry:
        case Turn(_, own, _, told) if not all(map(is_packed, (*own, *told))):
            raise WireError("journal", f"holds a turn of what is neither event nor instruction: {entry!r:.80}")
        case Use(_, packed) | Did(packed) | Said(packed) if kind_name(packed) != _HOLDS[type(entry)].__name__:
            raise WireError("journal", f"holds a {kind_name(packed)} in place of a {_HOLDS[type(entry)].__name__}")
        case Head(at=at) | Turn(at=at) | Use(at=at) if not abs(at) < MOST_S:
            raise WireError("journal", f"holds a time that is none: {at}")
    return entry
