"""What a pod shard's journal tells: what was seen, planned, done and said of a pod."""

from collections.abc import Callable
from typing import Any

from podherd.errors import WireError
from podherd.journal import kinds
from podherd.journal.entries import Did, Entry, Head, Said, Turn
from podherd.journal.fits import checked
from podherd.journal.story import seen_words, status_words
from podherd.journal.story.clock import took
from podherd.journal.story.line import Kind, Line
from podherd.journal.story.plan_words import SHORT, plan_text
from podherd.journal.story.tale import Key, Tale
from podherd.machines.pod import events as heard
from podherd.machines.pod import instructions as told
from podherd.steps.deeds import Deed
from podherd.wire import codec
from podherd.wire.control import Drain
from podherd.wire.desired import Desired, Gone
from podherd.wire.evict import Evict
from podherd.wire.node import RuntimeState
from podherd.wire.observed import Observed
from podherd.wire.status import PodEvent

SMALL_BYTES = 2048
"""A frame that may hold news for all pods is no larger; a larger one is read when it names the pod."""
_HEARD = frozenset(kind.__name__ for kind in (heard.Synced, Observed, heard.RuntimeBack, heard.ObjectsChanged))
_UID, _NAMESPACE, _NAME = 1, 2, 3
"""Places of these fields in a packed Sync, Publish or Forget."""


class ShardEar:
    """Hears one actor's entries in order."""

    def __init__(self, tale: Tale) -> None:
        self._tale = tale
        self._word = tale.word.encode(errors="surrogatepass")
        self._actor = ""
        self._at = 0.0
        self._keys: dict[str, Key] = {}
        self._seen: dict[str, Observed] = {}
        self._published: dict[str, told.Publish] = {}
        self._names: dict[str, str] = {}
        self._wanted: dict[str, str] = {}
        self._runtime: RuntimeState | None = None
        self._hear: dict[type, Callable[[Any], None]] = {
            Desired: self._desired, Gone: self._gone, Observed: self._observed, RuntimeState: self._runtime_state,
            Drain: self._drain, heard.Synced: self._synced, heard.RuntimeBack: self._runtime_back,
            Evict: self._evict, heard.ObjectsChanged: self._objects_changed, told.Over: self._over,
            told.Sync: self._sync, told.CancelSync: self._cancel, told.Publish: self._publish,
            told.Forget: self._forget, told.Record: lambda it: self._event(it.event), told.Fault: self._fault,
        }  # fmt: skip

    def hear(self, entry: Entry) -> None:
        """Take one entry."""
        match entry:
            case Head():
                self._actor, self._at = entry.actor, entry.at
            case Turn():
                self._at = entry.at
                self._turn(entry)
            case Did():
                self._deed(kinds.built(entry.deed))
            case Said():
                event = kinds.built(entry.event)
                self._at = event.at
                self._event(event)

    def _turn(self, turn: Turn) -> None:
        for array in turn.own:
            if kinds.kind_name(array) in _HEARD:
                self._take(kinds.built(array))
        if turn.frame and (len(turn.frame) <= SMALL_BYTES or self._word in turn.frame):
            for message in codec.decode(turn.frame).messages:
                self._take(checked(message))
        for array in turn.told:
            if len(array) > _NAME and isinstance(array[_NAME], str):
                self._name(array)
            if self._is_told(array):
                self._take(kinds.built(array))

    def _name(self, array: kinds.Packed) -> None:
        if kinds.kind_name(array) in ("Sync", "Publish"):
            uid, namespace, name = array[_UID : _NAME + 1]
            if not (isinstance(uid, str) and isinstance(namespace, str)):
                raise WireError("journal", f"holds a pod without a name: {array!r:.80}")
            key = (namespace, name)
            self._tale.names.add(key)
            if self._tale.may_mean(key):
                self._keys[uid] = key

    def _is_told(self, array: kinds.Packed) -> bool:
        if len(array) < 2:
            return False
        uid = array[1][1] if isinstance(array[1], tuple) and len(array[1]) > 1 else array[1]
        return isinstance(uid, str) and uid in self._keys

    def _take(self, it: Any) -> None:
        if (hear := self._hear.get(type(it))) is not None:
            hear(it)

    def _say(self, uid: str, kind: Kind, text: str, at: float | None = None) -> None:
        if (key := self._keys.get(uid)) is not None:
            self._tale.add(key, Line(self._at if at is None else at, kind, text, self._actor, uid))

    def _say_all(self, kind: Kind, text: str) -> None:
        self._tale.general.append(Line(self._at, kind, text, self._actor))

    # What it heard

    def _known(self, it: Desired | Gone | Evict | Observed | Deed | PodEvent) -> bool:
        key = (it.namespace, it.name)
        if self._tale.may_mean(key):
            self._keys[it.uid] = key
        return it.uid in self._keys

    def _desired(self, desired: Desired) -> None:
        if self._known(desired) and self._wanted.get(desired.uid) != desired.cause:
            self._wanted[desired.uid] = desired.cause
            self._say(desired.uid, Kind.SOURCE, f"{desired.cause}: the shard has the pod")

    def _gone(self, gone: Gone) -> None:
        if self._known(gone):
            self._wanted.pop(gone.uid, None)
            self._say(gone.uid, Kind.SOURCE, f"{gone.cause}: the shard lets go of the pod")

    def _observed(self, now: Observed) -> None:
        if not self._known(now):
            return
        self._names |= {each.id: each.name for each in now.containers}
        for text in seen_words.news(self._seen.get(now.uid), now):
            self._say(now.uid, Kind.SEEN, text)
        self._seen[now.uid] = now

    def _runtime_state(self, now: RuntimeState) -> None:
        before, self._runtime = self._runtime, now
        was = (before.runtime_ready, before.network_ready) if before else (True, True)
        if was == (now.runtime_ready, now.network_ready):
            return
        well = now.runtime_ready and now.network_ready
        self._say_all(Kind.NODE, "runtime and network are ready" if well else now.message or "runtime not ready")

    def _evict(self, evict: Evict) -> None:
        if self._known(evict):
            self._say(evict.uid, Kind.NODE, f"the pod is to end: {evict.reason}: {evict.message}")

    def _objects_changed(self, event: heard.ObjectsChanged) -> None:
        self._say(event.uid, Kind.SOURCE, "something that the pod refers to is there now or has changed")

    def _runtime_back(self, _event: heard.RuntimeBack) -> None:
        self._say_all(Kind.NODE, "the runtime answers again: what failed meanwhile is tried at once")

    def _drain(self, _order: Drain) -> None:
        self._say_all(Kind.AGENT, "told to stop every pod")

    def _synced(self, synced: heard.Synced) -> None:
        for result in synced.results:
            match result:
                case heard.Started():
                    self._names[result.id] = result.name
                case heard.StartFailed():
                    self._say(synced.uid, Kind.FAILED, f"{result.name}: {result.reason}: {result.message}")
                case heard.SandboxFailed():
                    self._say(synced.uid, Kind.FAILED, f"sandbox: {result.message}")
                case heard.StepFailed():
                    self._say(synced.uid, Kind.FAILED, f"{result.step}: {result.message}")
        if synced.cancelled:
            self._say(synced.uid, Kind.PLAN, "broken off")

    # What it said

    def _sync(self, sync: told.Sync) -> None:
        self._say(sync.uid, Kind.PLAN, plan_text(sync.plan))

    def _cancel(self, cancel: told.CancelSync) -> None:
        self._say(cancel.uid, Kind.PLAN, "break off what is being done: something has changed")

    def _publish(self, now: told.Publish) -> None:
        for text in status_words.news(self._published.get(now.uid), now):
            self._say(now.uid, Kind.STATUS, text)
        self._published[now.uid] = now

    def _over(self, over: told.Over) -> None:
        self._say(over.uid, Kind.STATUS, "nothing of it runs any more: what it had of the node is free")

    def _forget(self, forget: told.Forget) -> None:
        self._say(forget.uid, Kind.STATUS, "over: nothing of it is left")
        self._published.pop(forget.uid, None)
        self._seen.pop(forget.uid, None)
        self._wanted.pop(forget.uid, None)

    def _fault(self, fault: told.Fault) -> None:
        self._say(fault.uid, Kind.FAILED, f"fault in the agent: {fault.error}")

    # What was done

    def _event(self, event: PodEvent) -> None:
        if self._known(event):
            self._say(event.uid, Kind.EVENT, f"{event.reason}: {event.message}", event.at)

    def _deed(self, deed: Deed) -> None:
        if not self._known(deed):
            return
        if deed.call == "CreateContainer" and deed.result:
            self._names[deed.result] = deed.target
        target = self._names.get(deed.target, deed.target[:SHORT])
        outcome = f"failed: {deed.error}" if deed.error else f"ok {deed.result[:SHORT]}".rstrip()
        text = "  ".join(filter(None, (f"{deed.call:<15}", target, took(deed.took_s), outcome)))
        self._say(deed.uid, Kind.CRI, text, deed.at)
