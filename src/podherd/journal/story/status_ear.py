"""What the status actor's journal tells: what the API server was asked about the pod, and what it refused."""

from podherd.journal import kinds
from podherd.journal.entries import Entry, Head, Turn
from podherd.journal.story.line import Kind, Line
from podherd.journal.story.tale import Tale
from podherd.machines.status.events import Failed
from podherd.machines.status.instructions import CreateMirror, DeletePod, PatchStatus

_TOLD = frozenset({PatchStatus.__name__, DeletePod.__name__, CreateMirror.__name__})


class StatusEar:
    """Hears one actor's entries in order. Of patches it tells those that change the phase."""

    def __init__(self, tale: Tale) -> None:
        self._tale = tale
        self._actor = ""

    def hear(self, entry: Entry) -> None:
        """Take one entry."""
        if isinstance(entry, Head):
            self._actor = entry.actor
        elif isinstance(entry, Turn):
            for array in entry.own:
                if kinds.kind_name(array) == Failed.__name__:
                    self._tell(entry.at, kinds.built(array))
            for array in entry.told:
                if kinds.kind_name(array) in _TOLD:
                    self._tell(entry.at, kinds.built(array))

    def _tell(self, at: float, what: Failed | PatchStatus | DeletePod | CreateMirror) -> None:
        key = (what.namespace, what.name)
        if self._tale.may_mean(key) and (text := _words(what)):
            uid = what.uid if isinstance(what, PatchStatus | DeletePod) else ""
            self._tale.add(key, Line(at, Kind.API, text, self._actor, uid))


def _words(what: Failed | PatchStatus | DeletePod | CreateMirror) -> str:
    match what:
        case PatchStatus():
            phase = what.patch["status"].get("phase")
            return f"patch: phase {phase}" if phase else ""
        case DeletePod():
            return f"delete: {what.why}"
        case CreateMirror():
            return "create mirror pod"
        case Failed():
            return f"refused: {what.status} {what.reason}" if what.status else f"no answer: {what.reason}"
