"""The entries of one list call, kept as ready-made bytes: encoded once per change, joined once per change.

An entry is a whole repeated field (tag, length, message), so the reply is the entries one after another. The
bucket of an entry is the first byte of its id: a change joins its bucket again (1/256 of the entries), a list call
with nothing changed joins nothing.
"""

from random import Random

_BUCKETS = 256


class Shelf:
    """Entries by id (64 hex digits). With `shuffle` every reply has another order of the buckets, as a runtime
    that lists from a map; entries of one bucket stay neighbours (39 of 10,000)."""

    def __init__(self, shuffle: Random | None = None) -> None:
        self._shuffle = shuffle
        self._buckets: list[dict[str, bytes]] = [{} for _ in range(_BUCKETS)]
        self._joined = [b""] * _BUCKETS
        self._dirty: set[int] = set()

    def put(self, entry_id: str, entry: bytes) -> None:
        """Add an entry or take a newer form of it."""
        bucket = int(entry_id[:2], 16)
        self._buckets[bucket][entry_id] = entry
        self._dirty.add(bucket)

    def drop(self, entry_id: str) -> None:
        """Forget an entry that is there."""
        bucket = int(entry_id[:2], 16)
        del self._buckets[bucket][entry_id]
        self._dirty.add(bucket)

    def clear(self) -> None:
        """Forget all."""
        for bucket in self._buckets:
            bucket.clear()
        self._dirty.update(range(_BUCKETS))

    def entry(self, entry_id: str) -> bytes:
        """The ready-made bytes of one entry."""
        return self._buckets[int(entry_id[:2], 16)][entry_id]

    def reply(self) -> tuple[bytes, ...]:
        """All entries: the whole list response, in 256 pieces."""
        if self._dirty:
            for bucket in self._dirty:
                self._joined[bucket] = b"".join(self._buckets[bucket].values())
            self._dirty.clear()
        if self._shuffle is None:
            return tuple(self._joined)
        return tuple(self._shuffle.sample(self._joined, _BUCKETS))
