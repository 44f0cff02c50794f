"""Everything that may be about the pod that a person named, gathered journal by journal; then told."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

from podherd.errors import PodherdError
from podherd.journal.story.line import Kind, Line
from podherd.wire.routes import SOURCES, role_of

Key: TypeAlias = tuple[str, str]
"""A pod's namespace and name."""
REPEATED = (Kind.EVENT, Kind.FAILED, Kind.API)
"""Kinds of which the same text in a row is told once."""


class NoStoryError(PodherdError):
    """No pod, or more than one, is meant. notes: what could not be read, where it may stand."""

    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Tale:
    """word, namespace: what the person said. lines: by pod, of those that may be meant. names: every pod told of.

    general: lines about all pods. problems: lines about a manifest. bare: a static pod's name without the node's.
    """

    word: str
    namespace: str
    lines: dict[Key, list[Line]] = field(default_factory=dict)
    names: set[Key] = field(default_factory=set)
    general: list[Line] = field(default_factory=list)
    problems: list[tuple[str, Line]] = field(default_factory=list)
    bare: dict[Key, str] = field(default_factory=dict)

    def may_mean(self, key: Key) -> bool:
        """Whether the word may be this pod."""
        namespace, name = key
        return (name == self.word or name.startswith(f"{self.word}-")) and self.namespace in ("", namespace)

    def add(self, key: Key, line: Line) -> None:
        """A line about a pod."""
        self.lines.setdefault(key, []).append(line)

    def meant(self) -> Key:
        """The one pod that is meant. Raises NoStoryError."""
        exact = [key for key in self.lines if key[1] == self.word]
        keys = exact or [key for key in self.lines if self.bare.get(key) == self.word]
        if not keys and len(self.lines) == 1 and not self.bare:
            keys = list(self.lines)
        if len(keys) == 1:
            return keys[0]
        if keys:
            raise NoStoryError(f"pod {self.word}", f"may be {_listed(keys)}", "choose one with -n NAMESPACE")
        known = {each: name for _, name in self.names for each in (name, name.rpartition("-")[0]) if each}
        close = get_close_matches(self.word, known, n=1, cutoff=0.5) or [each for each in known if self.word in each]
        where = f" in namespace {self.namespace}" if self.namespace else ""
        mend = f"did you mean {known[close[0]]}?" if close else "`podherd get pods` lists those that are here"
        raise NoStoryError(f"pod {self.word}", f"no journal tells of it{where}", mend)

    def told(self, key: Key) -> list[Line]:
        """The pod's lines and what concerned it of the others, in the order of time."""
        own = self.lines[key]
        if any(_is_of_sources(line) for line in own):  # then what the shard heard of them says it again
            own = [line for line in own if line.kind is not Kind.SOURCE or _is_of_sources(line)]
        begins_at = min(line.at for line in own)
        actors = {line.actor for line in own}
        around = [each for each in self.general if each.at >= begins_at and each.actor in actors]
        causes = " ".join(line.text for line in own if line.kind is Kind.SOURCE)
        around += [line for thing, line in self.problems if thing in causes and line.at >= begins_at]
        return list(_once(sorted([*own, *around], key=lambda line: line.at)))


def _is_of_sources(line: Line) -> bool:
    return line.kind is Kind.SOURCE and role_of(line.actor) == SOURCES


def _once(lines: Iterable[Line]) -> Iterator[Line]:
    """Without the second of two equal lines in a row."""
    last: dict[Kind, str] = {}
    for line in lines:
        if line.kind in REPEATED and last.get(line.kind) == line.text:
            continue
        if line.kind in (Kind.PLAN, Kind.AGENT, Kind.SOURCE):
            last.clear()
        last[line.kind] = line.text
        yield line


def _listed(keys: Iterable[Key]) -> str:
    counts = Counter(f"{namespace}/{name}" for namespace, name in keys)
    return ", ".join(sorted(counts))
