"""The record of what was asked and done, for tests that check 'once' and 'never two', and the count of calls."""

from collections import Counter, deque
from typing import Any, NamedTuple

from podherd.hollow.records import Container, Sandbox
from podherd.hollow.script import Subject

KEPT = 200_000


class Entry(NamedTuple):
    """One mutating call, or one exit of a container (`Exit`)."""

    seq: int
    time_ns: int
    method: str
    namespace: str
    pod: str
    uid: str
    container: str
    attempt: int
    sandbox_id: str
    container_id: str
    image: str
    outcome: str
    """OK, the exit code of an Exit, or the gRPC code of a refusal."""


class Journal:
    """The last KEPT entries, in order."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque(maxlen=KEPT)
        self.seq = 0

    def sandbox(self, time_ns: int, method: str, sandbox: Sandbox, outcome: str = "OK") -> None:
        """A change of a sandbox."""
        self.seq += 1
        of = (sandbox.namespace, sandbox.name, sandbox.uid, "", sandbox.attempt, sandbox.id, "", "")
        self._entries.append(Entry(self.seq, time_ns, method, *of, outcome))

    def container(self, time_ns: int, method: str, container: Container, outcome: str = "OK") -> None:
        """A change of a container."""
        self.seq += 1
        sandbox = container.sandbox
        self._entries.append(
            Entry(
                self.seq,
                time_ns,
                method,
                sandbox.namespace,
                sandbox.name,
                sandbox.uid,
                container.name,
                container.attempt,
                sandbox.id,
                container.id,
                container.image,
                outcome,
            )
        )

    def other(self, time_ns: int, method: str, subject: Subject, outcome: str) -> None:
        """A refused call, or one about an image."""
        self.seq += 1
        of = (subject.namespace, subject.pod, "", subject.container, 0, "", "", subject.image)
        self._entries.append(Entry(self.seq, time_ns, method, *of, outcome))

    def since(self, seq: int) -> list[dict[str, Any]]:
        """Entries with a greater number than `seq`, as JSON objects."""
        skip = len(self._entries) - (self.seq - seq)
        return [self._entries[i]._asdict() for i in range(max(0, skip), len(self._entries))]

    @property
    def first(self) -> int:
        """Number of the oldest entry that is kept; 1 + `seq` when there is none."""
        return self.seq - len(self._entries) + 1


class Tally:
    """Calls by method, and the greatest number that waited at once (a call that is answered at once never waits)."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._most: Counter[str] = Counter()
        self._most_by_pod: Counter[str] = Counter()

    def enter(self, method: str, pod: str) -> None:
        """A call begins to wait."""
        for key, most in ((method, self._most), (f"{method} {pod}", self._most_by_pod)):
            self._waiting[key] += 1
            most[key] = max(most[key], self._waiting[key])

    def leave(self, method: str, pod: str) -> None:
        """The same call is over."""
        for key in (method, f"{method} {pod}"):
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]

    def report(self) -> dict[str, Any]:
        """As JSON."""
        waiting = {key: count for key, count in self._waiting.items() if " " not in key}
        return {
            "calls": dict(self.calls),
            "errors": dict(self.errors),
            "waiting": waiting,
            "most_waiting": dict(self._most),
            "most_waiting_by_pod": dict(self._most_by_pod),
        }
