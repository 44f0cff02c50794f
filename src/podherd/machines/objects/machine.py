"""Who needs which object, what is known of it, when to ask and whom to tell."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from podherd.machines.objects import events as heard
from podherd.machines.objects.address import not_found
from podherd.machines.objects.instructions import ALL_SERVICES, Fetch, Follow, Instruction, Stop, Tell, WakeAt
from podherd.machines.objects.services import ServiceTable
from podherd.machines.objects.tokens import refresh_at, spread_s
from podherd.wire.codec import pack
from podherd.wire.objects import Needs, ObjectState, Ref

IDLE_S = 60.0
"""So long an object stays known, and followed, that nobody needs: the next pod of the same kind needs it again."""
POLL_S = 60.0
"""What is not followed is asked for anew so often."""
PENDING_S = 1.0
"""A claim not yet bound, or a volume not yet attached, is asked for so often at first; pauses double to the next."""
PENDING_MAX_S = 10.0
RETRY_S = 0.1
RETRY_MAX_S = 30.0
LAG_S = 3.0
"""For so long a refusal may mean only that the authorizer has not yet heard of the pod; then it is told."""
_FORBIDDEN = 403
_MISSING = 404
_CERTIFICATE = "PodCertificate"
_CLAIMS = frozenset({"PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment"})
_ASKED_FOR = _CLAIMS | {"ServiceAccount", "ServiceAccountToken", _CERTIFICATE}
"""Kinds that the Node authorizer lets nobody watch, or that are made by asking."""
UNISSUED = "credential bundle is not issued yet"
"""The kubelet's words while a signer has not answered."""
_CONTENT = frozenset({"ConfigMap", "Secret"})
_AT_ONCE = frozenset({"ServiceAccountToken", _CERTIFICATE, "VolumeAttachment"})
"""Forgotten as soon as nobody needs them: no other pod's token is of use, and the next attachment is another one."""
Owner = tuple[str, str]
"""Shard and pod uid."""


class ObjectsMachine:
    """Pure. watches: whether ConfigMaps and Secrets are followed, not asked for again and again."""

    def __init__(self, watches: bool = True) -> None:
        self._watches = watches
        self._needs: dict[Owner, frozenset[Ref]] = {}
        self._owners: dict[Ref, set[Owner]] = {}
        self._states: dict[Ref, ObjectState] = {}
        self._open: set[Ref] = set()
        """Followed, or being fetched."""
        self._due: dict[Ref, float] = {}
        self._tries: dict[Ref, int] = {}
        self._refused_at: dict[Ref, float] = {}
        self._idle_at: dict[Ref, float] = {}
        self._expires_at: dict[Ref, float] = {}
        self._services = ServiceTable()
        self._now = 0.0
        self._out: list[Instruction] = []
        self._wake_at = 0.0
        self._hear: dict[type, Callable[[Any], None]] = {
            heard.Needed: lambda event: self._needed(event.shard, event.needs),
            heard.ShardStarted: self._shard_started,
            heard.Learned: self._learned,
            heard.TokenGiven: self._token,
            heard.CertificateGiven: self._certificate,
            heard.Refused: self._refused,
            heard.Failed: self._failed,
            heard.ServicesListed: lambda event: self._services_are(self._services.replace(event.bodies), event),
            heard.ServicePut: lambda event: self._services_are(self._services.put(event.body), event),
            heard.ServiceDropped: lambda event: self._services_are(self._services.drop(event.body), event),
            heard.Woke: self._woke,
        }

    def handle(self, now: float, *events: heard.Event) -> list[Instruction]:
        """What to do after these events."""
        self._now, self._out = now, []
        for event in events:
            self._hear[type(event)](event)
        self._sweep()
        self._ask_due()
        self._wake()
        return self._out

    # Who needs what

    def _needed(self, shard: str, needs: Needs) -> None:
        owner = (shard, needs.uid)
        old, new = self._needs.get(owner, frozenset()), frozenset(needs.refs)
        for ref in old - new:
            self._let_go(ref, owner, 0.0 if ref.kind in _AT_ONCE else IDLE_S)
        for ref in needs.refs:
            self._begin(ref)
            self._owners.setdefault(ref, set()).add(owner)
            self._idle_at.pop(ref, None)
        if new:
            self._needs[owner] = new
        else:
            self._needs.pop(owner, None)
        self._out.extend(Tell(shard, self._states[ref]) for ref in needs.refs if ref in self._states)

    def _let_go(self, ref: Ref, owner: Owner, idle_s: float) -> None:
        owners = self._owners.get(ref, set())
        owners.discard(owner)
        if not owners:
            self._idle_at[ref] = self._now + idle_s

    def _shard_started(self, event: heard.ShardStarted) -> None:
        for owner in [owner for owner in self._needs if owner[0] == event.shard]:
            for ref in self._needs.pop(owner):
                self._let_go(ref, owner, IDLE_S)

    def _begin(self, ref: Ref) -> None:
        """Have it asked for, unless it is, or is known and not to be asked for again."""
        source = _source(ref)
        if ref != source and ref not in self._states and self._services.listed:
            self._set(ref, pack(self._services.of(ref.namespace)))
        if source in self._open or source in self._states or source in self._due:
            return
        if ref.kind == _CERTIFICATE:
            self._set(ref, b"", UNISSUED)
        self._open.add(source)
        self._out.append(Fetch(source) if self._is_asked_for(source) else Follow(source))

    def _is_asked_for(self, ref: Ref) -> bool:
        return ref.kind in _ASKED_FOR or (ref.kind in _CONTENT and not self._watches)

    def _sweep(self) -> None:
        """Forget what nobody has needed for a while."""
        for ref in [ref for ref, at in self._idle_at.items() if at <= self._now]:
            for kept in (self._idle_at, self._states, self._due, self._tries, self._refused_at, self._expires_at):
                kept.pop(ref, None)
            self._owners.pop(ref, None)
            if _source(ref) == ref:
                self._close(ref)
        if ALL_SERVICES in self._open and not any(ref.kind == "Services" for ref in self._owners):
            self._close(ALL_SERVICES)
            self._services = ServiceTable()

    def _close(self, ref: Ref) -> None:
        if ref in self._open:
            self._open.discard(ref)
            self._out.append(Stop(ref))

    # What is known

    def _learned(self, event: heard.Learned) -> None:
        ref, body = event.ref, event.body
        if not self._answered(ref):
            return
        if body is None:
            self._set(ref, b"", not_found(ref), missing=True)
            self._again(ref, self._pause(ref, RETRY_S, RETRY_MAX_S))
            return
        pending = _is_pending(ref, body)
        if not pending:
            self._tries.pop(ref, None)
        self._set(ref, pack(_needed_of(body)))
        if ref.kind in _CONTENT and body.get("immutable"):
            self._close(ref)
            self._due.pop(ref, None)
        else:
            self._again(ref, self._pause(ref, PENDING_S, PENDING_MAX_S) if pending else POLL_S)

    def _token(self, event: heard.TokenGiven) -> None:
        ref = event.ref
        if not self._answered(ref):
            return
        self._tries.pop(ref, None)
        detail = json.loads(ref.detail)
        self._expires_at[ref] = event.expires_at
        self._set(ref, pack(dict(event.status)))
        at = refresh_at(event.expires_at, detail["expirationSeconds"], detail["pod"]["uid"])
        self._again(ref, max(RETRY_MAX_S, at - self._now))

    def _certificate(self, event: heard.CertificateGiven) -> None:
        ref = event.ref
        if not self._answered(ref):
            return
        self._tries.pop(ref, None)
        self._expires_at[ref] = event.expires_at
        self._set(ref, pack(dict(event.body)))
        self._again(ref, max(RETRY_MAX_S, event.refresh_at + spread_s(ref.detail) - self._now))

    def _refused(self, event: heard.Refused) -> None:
        """For good: it is not asked for again."""
        if self._answered(event.ref):
            self._set(event.ref, b"", event.reason)

    def _failed(self, event: heard.Failed) -> None:
        ref = event.ref
        if not self._answered(ref, failed=True):
            return
        self._again(ref, self._pause(ref, RETRY_S, RETRY_MAX_S))
        if ref == ALL_SERVICES or self._stands(ref):
            return
        if event.status == _FORBIDDEN:
            since = self._refused_at.setdefault(ref, self._now)
            if self._now - since < LAG_S and ref not in self._states:
                return
        token = ref.kind == "ServiceAccountToken"
        problem = f"failed to fetch token: {event.reason}" if token else event.reason
        self._set(ref, b"", problem, missing=event.status == _MISSING)

    def _stands(self, ref: Ref) -> bool:
        """Whether what was told before is still good."""
        state = self._states.get(ref)
        if state is None or not state.body:
            return False
        return self._now < self._expires_at.get(ref, self._now + 1)

    def _answered(self, ref: Ref, failed: bool = False) -> bool:
        """Whether this answer was waited for; a fetch is over with it."""
        if ref not in self._open:
            return False
        if self._is_asked_for(ref):
            self._open.discard(ref)
        if not failed:
            self._refused_at.pop(ref, None)
        return True

    def _pause(self, ref: Ref, first_s: float, most_s: float) -> float:
        tries = self._tries[ref] = self._tries.get(ref, 0) + 1
        return float(min(most_s, first_s * 2 ** min(tries - 1, 16)))

    def _again(self, ref: Ref, pause_s: float) -> None:
        if self._is_asked_for(ref):
            self._due[ref] = self._now + pause_s

    def _ask_due(self) -> None:
        for ref in [ref for ref, at in self._due.items() if at <= self._now]:
            del self._due[ref]
            self._open.add(ref)
            self._out.append(Fetch(ref))

    def _services_are(self, changed: set[str], event: heard.Event) -> None:
        known = [ref for ref in self._owners if ref.kind == "Services"]
        for ref in known:
            first = isinstance(event, heard.ServicesListed) and ref not in self._states
            if ref.namespace in changed or first:
                self._set(ref, pack(self._services.of(ref.namespace)))

    def _set(self, ref: Ref, body: bytes, problem: str = "", missing: bool = False) -> None:
        state = ObjectState((ref,), body, problem, missing)
        if self._states.get(ref) == state:
            return
        self._states[ref] = state
        shards = dict.fromkeys(shard for shard, _ in sorted(self._owners.get(ref, ())))
        self._out.extend(Tell(shard, state) for shard in shards)

    def _woke(self, _event: heard.Woke) -> None:
        """The timer is spent, even if it rang a little early."""
        self._wake_at = 0.0

    def _wake(self) -> None:
        """One timer for all that has a time; told only when it is another than before."""
        times = (*self._due.values(), *self._idle_at.values())
        at = min(times, default=0.0)
        if at and at != self._wake_at:
            self._out.append(WakeAt(at))
        self._wake_at = at


def _source(ref: Ref) -> Ref:
    """What is asked for to know it."""
    return ALL_SERVICES if ref.kind == "Services" else ref


def _is_pending(ref: Ref, body: Mapping[str, Any]) -> bool:
    """Whether somebody waits for what it will say next: a claim to be bound, a volume to be attached."""
    status = body.get("status") or {}
    if ref.kind == "VolumeAttachment":
        return not status.get("attached")
    return ref.kind == "PersistentVolumeClaim" and status.get("phase") != "Bound"


def _needed_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The object without its managedFields, which nobody needs and which change most often."""
    metadata = {key: value for key, value in (body.get("metadata") or {}).items() if key not in _UNUSED}
    return {**body, "metadata": metadata}


_UNUSED = frozenset({"managedFields", "resourceVersion"})
