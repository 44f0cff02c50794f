"""What the sources actor's journal tells: which pods were wanted, since when and by what."""

from podherd.journal import kinds
from podherd.journal.entries import Entry, Head, Turn
from podherd.journal.story.line import Kind, Line
from podherd.journal.story.tale import Tale
from podherd.machines.sources.events import ServerStarted, ShardStarted
from podherd.machines.sources.instructions import Preempt, Remove, Upsert, Warn
from podherd.model.keys import SOURCE_API
from podherd.wire import codec
from podherd.wire.desired import Desired, Gone
from podherd.wire.evict import Evict

_GREETINGS = frozenset({ShardStarted.__name__, ServerStarted.__name__})
_TOLD = frozenset({Upsert.__name__, Remove.__name__, Warn.__name__, Preempt.__name__})


class SourcesEar:
    """Hears one actor's entries in order."""

    def __init__(self, tale: Tale) -> None:
        self._tale = tale
        self._actor = ""
        self._wanted: dict[str, str] = {}

    def hear(self, entry: Entry) -> None:
        """Take one entry."""
        if isinstance(entry, Head):
            self._actor = entry.actor
        elif isinstance(entry, Turn):
            # A shard or a server that begins anew is told again what was told before.
            again = any(kinds.kind_name(array) in _GREETINGS for array in entry.own)
            for array in entry.told:
                if kinds.kind_name(array) in _TOLD and not again:
                    self._told(entry.at, kinds.built(array))

    def _told(self, at: float, told: object) -> None:
        match told:
            case Upsert(_, desired):
                self._upsert(at, desired)
            case Remove(_, gone):
                self._gone(at, gone)
            case Preempt(_, order):
                self._say(at, order, f"the pod has to make room: {order.message}")
            case Warn(problem):
                text = f"{problem.thing}: {problem.problem or 'the problem is over'}"
                self._tale.problems.append((problem.thing, Line(at, Kind.SOURCE, text, self._actor)))

    def _upsert(self, at: float, desired: Desired) -> None:
        tale, key = self._tale, (desired.namespace, desired.name)
        tale.names.add(key)
        if not tale.may_mean(key):
            return
        node = (codec.unpack(desired.body).get("spec") or {}).get("nodeName") or ""
        static = node and desired.source != SOURCE_API
        tale.bare[key] = desired.name.removesuffix(f"-{node.lower()}") if static else desired.name
        again = self._wanted.get(desired.uid) == desired.cause
        self._wanted[desired.uid] = desired.cause
        words = "pod wanted, as before" if again else f"pod wanted (uid {desired.uid})"
        if desired.refused:
            words = f"refused by the node: {desired.refused}: {desired.refused_message}"
        elif desired.resize_pending:
            words = f"resize {desired.resize_pending}: {desired.resize_message}"
        tale.add(key, Line(at, Kind.SOURCE, f"{desired.cause}: {words}", self._actor, desired.uid))

    def _gone(self, at: float, gone: Gone) -> None:
        self._say(at, gone, f"{gone.cause}: uid {gone.uid} not wanted any more")

    def _say(self, at: float, it: Gone | Evict, text: str) -> None:
        key = (it.namespace, it.name)
        if self._tale.may_mean(key):
            self._tale.add(key, Line(at, Kind.SOURCE, text, self._actor, it.uid))
