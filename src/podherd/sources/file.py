"""The file source: a directory of manifests, or one manifest (kubelet behaviour, section 1.1).

Every `check_s` the whole path is listed anew; in between, inotify names what changed, and where there is no inotify (or
no directory yet) a look each second does. A file whose inode, size and times are as before is not read again.

A file that became unparseable keeps its pod, as the kubelet does after a write event: it may be half written. It loses
the pod when a periodic listing finds it unparseable and it was so before: two looks, the second of them a listing. A
file that vanished is looked for once more after a moment, since many editors move the old one away first.

Work is done in slices of a few milliseconds, and each pod is told as soon as it is parsed, so thousands of new files
neither block the loop nor wait for each other.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from podherd.errors import ManifestError
from podherd.machines.sources.events import Event, Noted, OriginBad, OriginGone, OriginRead, SourceListed
from podherd.model import schema
from podherd.model.keys import SOURCE_FILE
from podherd.sources.listing import (
    Entry,
    Listing,
    Signature,
    Target,
    is_settled,
    list_manifests,
    look_at_all,
    printable,
    read_all,
    target_of,
)
from podherd.sources.static import file_pods, problem_of
from podherd.sources.watch import Watch

POLL_S = 1.0
"""Between two looks while nothing tells of changes."""
VANISH_S = 0.2
"""How long a file may be missing in the middle of an edit."""
SLICE_S = 0.005
"""Longest work between two turns of the loop, one manifest more."""
READ_AT_ONCE = 64
BIG_BYTES = 64 * 1024
"""A manifest from this size on is parsed in a thread."""

Emit = Callable[[Event], None]
Clock = Callable[[], float]


@dataclass(slots=True)
class _Known:
    """What was last seen of one file. bad_looks: how often in a row it could not be used. holds: it has a pod."""

    signature: Signature
    settled: bool = False
    digest: bytes = b""
    bad_looks: int = 0
    holds: bool = False


class FileSource:
    """Reads `path` for ever and tells `emit`. node_name: see identity; clock: seconds since the epoch."""

    def __init__(self, path: Path, node_name: str, check_s: float, emit: Emit, clock: Clock = time.time) -> None:
        self.path = os.path.abspath(path)
        self._node_name = node_name
        self._check_s = check_s
        self._emit = emit
        self._clock = clock
        self._watch = Watch()
        self._target: Target | None = None
        self._known: dict[str, _Known] = {}
        self._slice_ends = 0.0

    async def run(self) -> None:
        """List, then hear of changes until the next listing is due; for ever."""
        await asyncio.to_thread(schema.prepare)
        try:
            while True:
                await self.relist()
                await self._hear_until(time.monotonic() + self._check_s)
        finally:
            await self._watch.close()

    async def relist(self) -> None:
        """The periodic listing; arms the watch first where the path leads to another directory than before."""
        await self._arm()
        listing = await asyncio.to_thread(list_manifests, self.path)
        await self._compare(listing, periodic=True)
        self._emit(Noted(printable(self.path), self._trouble(listing)))
        if not listing.problem:
            self._emit(SourceListed(SOURCE_FILE))

    async def _hear_until(self, due: float) -> None:
        while (left := due - time.monotonic()) > 0:
            names, moved = await self._watch.changes(left if self._watch.active else min(left, POLL_S))
            if moved:
                self._target = None
                return
            if names:
                await self._look(names)
            elif not self._watch.active and await self._poll():
                return

    async def _poll(self) -> bool:
        """A listing without inotify; true when there is another directory to watch."""
        target = await asyncio.to_thread(target_of, self.path)
        if target != self._target:
            return True
        await self._compare(await asyncio.to_thread(list_manifests, self.path), periodic=False)
        return False

    async def _arm(self) -> None:
        """Watch the directory, or the one around a single file (an editor may replace the file itself)."""
        target = await asyncio.to_thread(target_of, self.path)
        if target is None:
            await self._watch.close()
        elif target != self._target or not self._watch.active:
            await self._watch.arm(target.directory)
        self._target = target

    def _trouble(self, listing: Listing) -> str:
        """What is wrong with the path as a whole."""
        if listing.problem:
            return listing.problem
        if not listing.exists:
            return "does not exist: no static pods from files until it does"
        return self._watch.problem and f"{self._watch.problem}; looking every {POLL_S:g} s instead"

    async def _look(self, names: set[str]) -> None:
        """Files that inotify named."""
        if self._target and self._target.directory == self.path:
            paths = [os.path.join(self.path, name) for name in sorted(names) if not name.startswith(".")]
        else:
            paths = [self.path] if os.path.basename(self.path) in names else []
        entries = await asyncio.to_thread(look_at_all, paths)
        await self._take([entry for entry in entries.values() if entry], periodic=False)
        await self._vanished([path for path, entry in entries.items() if entry is None])

    async def _compare(self, listing: Listing, periodic: bool) -> None:
        """A listing against what is known."""
        if listing.problem:
            return
        await self._take([entry for entry in listing.entries if self._is_news(entry, periodic)], periodic)
        present = {entry.path for entry in listing.entries}
        await self._vanished([path for path in self._known if path not in present])

    def _is_news(self, entry: Entry, periodic: bool) -> bool:
        known = self._known.get(entry.path)
        if known is None or known.signature != entry.signature or not known.settled:
            return True
        return periodic and known.bad_looks == 1

    async def _take(self, entries: list[Entry], periodic: bool) -> None:
        """Read and parse these files, a slice at a time."""
        self._slice_ends = time.monotonic() + SLICE_S
        for start in range(0, len(entries), READ_AT_ONCE):
            batch = entries[start : start + READ_AT_ONCE]
            for entry, data in zip(batch, await _read(batch), strict=True):
                await self._parse(entry, data, periodic)
                if time.monotonic() >= self._slice_ends:
                    await asyncio.sleep(0)
                    self._slice_ends = time.monotonic() + SLICE_S

    async def _parse(self, entry: Entry, data: bytes | str, periodic: bool) -> None:
        now = self._clock()
        known = self._known.setdefault(entry.path, _Known(entry.signature))
        known.signature, known.settled = entry.signature, is_settled(entry.signature, now)
        digest = blake2b(data, digest_size=16).digest() if isinstance(data, bytes) else b""
        if digest and digest == known.digest and not known.bad_looks:
            return
        known.digest = digest
        try:
            read = await self._pods_of(entry, data, now)
        except ManifestError as error:
            self._bad(entry, known, problem_of(error), periodic)
        except Exception as error:  # a fault of ours must cost this one file, never the whole directory
            self._bad(entry, known, f"cannot be understood: {type(error).__name__}: {error}", periodic)
        else:
            known.bad_looks, known.holds = 0, True
            self._emit(read)

    def _bad(self, entry: Entry, known: _Known, problem: str, periodic: bool) -> None:
        known.bad_looks += 1
        keep = (entry.unsure or not entry.problem) and not (periodic and known.bad_looks > 1)
        if keep and known.holds:
            problem += "; its pod stays as it was for now"
        known.holds = known.holds and keep
        self._emit(OriginBad(SOURCE_FILE, entry.name, problem, keep))

    async def _pods_of(self, entry: Entry, data: bytes | str, now: float) -> OriginRead:
        if isinstance(data, str):
            raise ManifestError(entry.name, data)
        if len(data) < BIG_BYTES:
            return file_pods(data, entry.name, self._node_name, now)
        return await asyncio.to_thread(file_pods, data, entry.name, self._node_name, now)

    async def _vanished(self, paths: Iterable[str]) -> None:
        """Forget files that are still missing after a moment."""
        missing = [path for path in paths if path in self._known]
        if not missing:
            return
        await asyncio.sleep(VANISH_S)
        entries = await asyncio.to_thread(look_at_all, missing)
        for path in [path for path, entry in entries.items() if entry is None]:
            del self._known[path]
            self._emit(OriginGone(SOURCE_FILE, printable(path)))
        await self._take([entry for entry in entries.values() if entry], periodic=False)


async def _read(entries: list[Entry]) -> list[bytes | str]:
    """The bytes of each, or the problem it already has."""
    sound = [entry for entry in entries if not entry.problem]
    data = iter(await asyncio.to_thread(read_all, sound))
    return [entry.problem or next(data) for entry in entries]
